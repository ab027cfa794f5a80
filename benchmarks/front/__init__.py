"""The parts of `pareto.py`: points of quality and speed, and which of them nothing beats."""
