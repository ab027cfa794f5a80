"""Treatment of texts in the graph of a SavedModel that searches."""
