"""What a search is, for every engine: options, random numbers, checks of requests."""
