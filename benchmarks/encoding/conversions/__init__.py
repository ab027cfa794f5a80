"""Converters of Hugging Face's directories into other engines' models, each in its environment."""
