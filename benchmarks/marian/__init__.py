"""The parts of `beside_bergamot.py`: translation with Marian's own file, next to Marian itself."""
