"""The parts of `benchmarks/serve.py`: servers, clients, the bare translator, rounds, tables."""
