"""Objectives: what a model learns to predict of padded rows, drawn from a seed in a graph."""
