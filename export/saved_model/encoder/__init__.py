"""SavedModels of encoders alone."""
