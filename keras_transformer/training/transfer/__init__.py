"""Transfer learning: what a model takes from one that was trained before."""
