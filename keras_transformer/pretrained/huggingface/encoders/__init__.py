"""Hugging Face's encoders that followed BERT, a family a file, and the heads of them all."""
