"""Flags of commands: which data to read, how to search, how to train, what to draw."""
