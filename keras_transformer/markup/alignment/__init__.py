"""Spans of texts for models without slots, put back into translations by attention."""
