"""SavedModels of decoders alone."""
