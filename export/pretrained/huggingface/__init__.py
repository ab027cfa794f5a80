"""Writes models as those of Hugging Face transformers: config.json, generation_config.json,
model.safetensors and tokenizer files; one file for each group of architectures.
"""
