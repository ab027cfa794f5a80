"""Products of matrices: how layers and losses multiply by their weights."""
