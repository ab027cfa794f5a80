"""Checks that an artefact's graphs compute the model's numbers."""
