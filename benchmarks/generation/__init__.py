"""The parts of `generate.py`: how fast decoders alone continue prompts, next to other engines."""
