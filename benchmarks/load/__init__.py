"""The parts of `benchmarks/serve.py`: servers, clients, the translator alone, rounds, tables."""
