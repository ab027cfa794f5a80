"""The ends of a decode step: from states or logits to the best tokens."""
