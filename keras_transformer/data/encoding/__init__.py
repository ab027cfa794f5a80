"""Sentences become pairs of id rows."""
