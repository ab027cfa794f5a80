"""Readers of the benchmarks' command line values: lists separated by commas, names, numbers."""

import argparse
from collections.abc import Callable, Sequence
from typing import Any


def items(kind: Callable[[str], Any]) -> Callable[[str], list[Any]]:
    """Reads values separated by commas."""

    def read(text: str) -> list[Any]:
        try:
            return list(dict.fromkeys(kind(item) for item in text.split(",")))
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return read


def names(known: Sequence[str] | dict[str, Any]) -> Callable[[str], list[str]]:
    """Reads known names separated by commas, or "none"."""

    def check(name: str) -> str:
        if name not in known:
            raise ValueError(f"must be of {', '.join(known)}, got {name!r}")
        return name

    return lambda text: [] if text == "none" else items(check)(text)


def count(text: str) -> int:
    """Reads a number above 0."""
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"must be a whole number above 0, got {text!r}")
    return int(text)
