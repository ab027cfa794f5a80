"""Formats that hold texts beside their translations."""
