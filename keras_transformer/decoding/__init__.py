"""Search on the Keras side: cached greedy and beam search, and the translator built on it."""
