"""SavedModels for TensorFlow Serving, with tokenizer, search and cache in the graph."""
