"""Calibration: what texts show of a model's layers, and what quantisation loses on them."""
