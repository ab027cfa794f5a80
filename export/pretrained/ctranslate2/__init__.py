"""Writes models for CTranslate2, with the specifications of its own Python package."""
