"""training: see the modules."""
