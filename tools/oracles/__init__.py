"""Tiny random models of Hugging Face transformers: makes them, and puts their weights into ours."""
