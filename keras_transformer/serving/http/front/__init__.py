"""Checks before a request is answered: connection limits, host names, CORS and API keys."""
