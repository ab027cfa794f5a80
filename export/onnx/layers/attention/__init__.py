"""Attention in a graph: one function for each place in which a model has it."""
