"""The optimizers (paper, section 5.3) and the learning rate."""
