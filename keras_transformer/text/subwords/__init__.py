"""Vocabularies of words and parts of words: one interface, and a reader for each kind of file."""
