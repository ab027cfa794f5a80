"""Served models: their versions, their signatures, and requests batched together."""
