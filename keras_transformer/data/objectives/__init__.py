"""Objectives: take padded rows of ids and a seed and return a batch for `fit`, in a graph."""
