"""A training run: its directory, options, checkpoints and history, from its start to its end."""
