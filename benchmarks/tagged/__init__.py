"""Fragments of HTML whose translations are known, tags included."""
