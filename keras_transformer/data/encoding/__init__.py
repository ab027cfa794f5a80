"""Sentences and texts as rows of ids."""
