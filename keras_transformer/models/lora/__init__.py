"""Low-rank adaptation of a model, and the files of what it trains."""
