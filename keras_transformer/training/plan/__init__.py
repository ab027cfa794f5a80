"""What a run will do: the numbers that fit its corpus, and the lines that tell them first."""
