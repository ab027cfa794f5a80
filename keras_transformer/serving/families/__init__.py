"""Served models of each family, and the function that opens an artefact as one of them."""
