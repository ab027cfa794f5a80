"""A vocabulary of words and parts of words: one interface, and what reads each kind of file."""
