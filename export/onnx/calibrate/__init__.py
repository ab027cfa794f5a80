"""Calibration of quantisation on texts: the inputs of a model's layers, and the loss."""
