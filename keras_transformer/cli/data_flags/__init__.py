"""Flags that say which data to read, for the commands that read texts or pairs."""
