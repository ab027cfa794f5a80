"""Decoders alone as Hugging Face has them."""
