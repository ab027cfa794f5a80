"""A corpus that was tokenized beforehand: shards on disk, written and read."""
