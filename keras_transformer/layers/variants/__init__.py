"""Variants that are newer than the paper: other norms and positions, a recurrence, quantized
weights, and frozen layers.
"""
