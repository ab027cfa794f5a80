"""Spans of texts that a translation must keep: found by kind, lifted out and put back."""
