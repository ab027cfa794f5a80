"""Continuation of texts, and their probabilities, on any engine of a decoder alone."""
