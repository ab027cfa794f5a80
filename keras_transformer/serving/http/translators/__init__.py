"""Translations for clients that name both languages, as LibreTranslate's do."""
