"""Programs that make what the package ships; they run from the checkout and are not installed."""
