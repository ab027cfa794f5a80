"""Writes models as presets of keras-hub."""
