"""A run on disk: its directory, checkpoints and history, and the finished runs that are read."""
