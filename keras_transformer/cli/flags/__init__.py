"""Flags that several commands share: which data to read, how to search, how to train."""
