"""The parts of the speed benchmarks; the scripts in the parent folder use them."""
