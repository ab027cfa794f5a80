"""Hugging Face's decoders alone, a family a file."""
