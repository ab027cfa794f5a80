"""Presets of keras-hub, as directories of Hugging Face and back: a family is a table of fields and
weights, and the readers and writers of Hugging Face do the rest.
"""
