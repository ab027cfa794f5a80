"""The decoder: its block, and the stack of blocks."""
