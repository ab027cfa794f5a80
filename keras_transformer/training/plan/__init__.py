"""The plan of a run: numbers that suit its corpus, printed before training starts."""
