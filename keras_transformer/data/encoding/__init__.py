"""Encoding: takes pairs of sentences and returns pairs of id rows."""
