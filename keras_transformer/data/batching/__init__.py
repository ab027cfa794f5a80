"""Batching: takes pairs of id rows and returns padded batches."""
