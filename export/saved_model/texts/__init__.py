"""What is done to texts in the graph of a SavedModel that searches."""
