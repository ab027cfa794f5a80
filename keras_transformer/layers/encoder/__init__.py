"""The encoder: its stack of blocks, and the two streams of permutation language models."""
