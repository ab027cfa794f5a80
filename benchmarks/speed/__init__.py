"""The parts of the speed benchmarks; the scripts beside this folder put them together."""
