"""Checks the sizes of positions and masks to draw, without loading Keras."""


def check_positions(length: int, model_dim: int) -> None:
    """Raises `ValueError` if there is no position vector, or none with a sine and a cosine."""
    _check_least("length", length, 1)
    _check_least("model_dim", model_dim, 2)


def check_masks(tokens: int, padding: int) -> None:
    """Raises `ValueError` if a row has no token, or negative padding."""
    _check_least("tokens", tokens, 1)
    _check_least("padding", padding, 0)


def _check_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}.")
