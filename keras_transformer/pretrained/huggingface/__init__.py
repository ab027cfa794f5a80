"""Models of Hugging Face transformers: config.json, weights by the names of their state dicts, and
tokenizer files; one file for each group of architectures that differ by little.
"""
