"""Formats of a program's texts in one language, which a translated copy has in another."""
