"""Encoders' answers about texts, on any engine: vectors, classes, tags, spans and filled masks."""
