"""Reads files of settings, JSON and YAML, value by value: one of another kind than is needed is an
error that names file, value and kind.
"""

import json
import math
import numbers
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.text.subwords.interface import MOST_IDS

_NEEDED = object()


class FileValues:
    """The values of a mapping that a file holds.

    Args:
        origin: The file, and the part of it if it is not the whole, for messages.
        values: Its content.

    Raises:
        ImportRefusedError: The content is no mapping.
    """

    def __init__(self, origin: object, values: Any) -> None:
        if not isinstance(values, Mapping):
            raise ImportRefusedError(f"{origin} must hold names and values, is {_shown(values)}.")
        self.origin = origin
        self.values = values

    def require(self, **expected: Any) -> None:
        """Raises `ImportRefusedError` unless fields are missing or have the given values."""
        for name, value in expected.items():
            if self.get(name, value) != value:
                raise ImportRefusedError(
                    f"{self.origin} has {name}: {self.values[name]!r}, and only {value!r} is "
                    "supported."
                )

    def __getitem__(self, name: str) -> Any:
        if name not in self.values:
            raise ImportRefusedError(f"{self.origin} lacks the field {name}.")
        return self.values[name]

    def get(self, name: str, default: Any) -> Any:
        """Returns a value, or what stands for it if it is missing or null."""
        value = self.values.get(name)
        return default if value is None else value

    def integer(
        self, name: str, default: Any = _NEEDED, *, least: int = 0, most: int | None = None
    ) -> Any:
        """Returns an integer; all of these refuse a value of another kind, and one out of range."""
        value = self._value(name, default)
        if value is default:
            return default
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._error(name, "an integer", value)
        if value < least:
            raise self._error(name, f"at least {least}", value)
        if value > (2**31 - 1 if most is None else most):
            raise self._error(name, f"at most {2**31 - 1 if most is None else most}", value)
        return value

    def vocab_size(self, name: str = "vocab_size") -> int:
        """Returns a number of ids."""
        return int(self.integer(name, least=1, most=MOST_IDS))

    def number(self, name: str, default: Any = _NEEDED) -> Any:
        """Returns a number as a float, neither NaN nor infinite."""
        value = self._value(name, default)
        if value is default:
            return default
        is_real = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if not is_real or not math.isfinite(_as_float(value)):
            raise self._error(name, "a finite number", value)
        return float(value)

    def flag(self, name: str, default: Any = _NEEDED) -> Any:
        """Returns True or False, which some write as 1 and 0."""
        value = self._value(name, default)
        if value is default:
            return default
        if not isinstance(value, bool | int) or value not in (0, 1):
            raise self._error(name, "true or false", value)
        return bool(value)

    def text(self, name: str, default: Any = _NEEDED) -> Any:
        """Returns a string."""
        return self._of_kind(name, default, str, "a string")

    def mapping(self, name: str, default: Any = _NEEDED) -> Any:
        """Returns the values of a mapping within."""
        found = self._of_kind(name, default, Mapping, "names and values")
        return found if found is default else FileValues(f"{self.origin}: {name}", found)

    def sequence(self, name: str, default: Any = _NEEDED) -> Any:
        """Returns a list."""
        return self._of_kind(name, default, list, "a list")

    def items(self, name: str, default: Any = _NEEDED) -> "FileValues":
        """Returns the items of a list by names that tell their places: `name[0]` and so on."""
        found = enumerate(self.sequence(name, default))
        return FileValues(self.origin, {f"{name}[{place}]": one for place, one in found})

    def _value(self, name: str, default: Any) -> Any:
        value = self[name] if default is _NEEDED else self.get(name, default)
        if value is None and default is _NEEDED:
            raise self._error(name, "given", value)
        return value

    def _of_kind(self, name: str, default: Any, kind: Any, called: str) -> Any:
        value = self._value(name, default)
        if value is not default and not isinstance(value, kind):
            raise self._error(name, called, value)
        return value

    def _error(self, name: str, expected: str, value: Any) -> ImportRefusedError:
        return ImportRefusedError(
            f"{self.origin}: the value of {name} must be {expected}, is {_shown(value)}."
        )


def read_text(path: Path) -> str:
    """Returns a file's text.

    Raises:
        ImportRefusedError: It is missing or not UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError as error:
        raise ImportRefusedError(f"{path} is missing.") from error
    except UnicodeDecodeError as error:
        raise ImportRefusedError(f"{path} is not text in UTF-8: {error}.") from error


def read_json(path: Path) -> Any:
    """Returns what a JSON file holds.

    Raises:
        ImportRefusedError: It is missing or not JSON.
    """
    try:
        return json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise ImportRefusedError(f"{path} is no JSON: {error}.") from error
    except RecursionError as error:
        raise ImportRefusedError(f"{path} is no JSON: it nests too deeply.") from error


def read_yaml(origin: object, text: str) -> Any:
    """Returns what a text of YAML holds.

    Args:
        origin: The file, for messages.
        text: Its content.

    Raises:
        ImportRefusedError: It is no YAML.
    """
    try:
        return yaml.safe_load(text)
    except RecursionError as error:
        raise ImportRefusedError(f"{origin} is no YAML: it nests too deeply.") from error
    except (yaml.YAMLError, ValueError, TypeError) as error:  # Dates and keys raise the latter.
        raise ImportRefusedError(f"{origin} is no YAML: {error}.") from error


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:60]}…"
