"""Heads: what reads an encoder's states."""
