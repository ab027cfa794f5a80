"""Errors about the files of models that were trained elsewhere."""


class ImportRefusedError(ValueError):
    """A file cannot be imported; the message names it and what is supported."""
