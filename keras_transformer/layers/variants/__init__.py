"""Variants that are newer than the paper: other norms and positions, quantized weights, and frozen
layers.
"""
