"""Losses and metrics: label-smoothed cross-entropy, alone or computed together with the head."""
