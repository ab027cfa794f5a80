"""The parts of a search that all engines share: options, random numbers and checks of requests."""
