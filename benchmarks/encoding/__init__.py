"""The parts of `encode.py`: how fast encoders alone give states, next to other engines."""
