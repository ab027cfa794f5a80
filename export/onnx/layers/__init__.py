"""Layers of a Keras model in emitted graphs, one function for each kind."""
