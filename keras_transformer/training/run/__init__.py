"""A run on disk: its directory, options, checkpoints and history, from its start to its end."""
