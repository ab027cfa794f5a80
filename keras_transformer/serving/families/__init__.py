"""Served models of each family, and what opens the one that an artefact holds."""
