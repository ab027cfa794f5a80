"""One file for each library that is measured, run as `python -m speed.engines.NAME`."""
