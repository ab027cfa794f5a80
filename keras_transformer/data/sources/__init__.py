"""Where sentences come from: files, TSV, TFDS, the demo corpus, streams."""
