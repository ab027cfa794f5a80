"""Padded batches of id rows."""
