"""Noise: capitals, typos, emoji and the like, put into text to train on or to test with."""
