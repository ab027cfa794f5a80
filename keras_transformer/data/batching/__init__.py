"""Pairs of id rows become padded batches."""
