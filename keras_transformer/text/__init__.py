"""Text to ids and back: one SentencePiece model, read in plain Python or in TensorFlow graphs."""
