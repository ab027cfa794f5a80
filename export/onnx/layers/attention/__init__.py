"""Attention, one function for each place that it stands in: takes a Keras attention layer and
returns the parts of a sub-layer.
"""
