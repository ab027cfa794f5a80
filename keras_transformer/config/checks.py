"""Checks of single fields of a config; each raises an error that names the field and the value."""

import dataclasses
import numbers
from collections.abc import Collection, Iterable, Mapping
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin

from keras_transformer.suggestions import did_you_mean

_Value = TypeVar("_Value")


def make_numbers_plain(config: Any) -> None:
    """Makes NumPy's numbers among a frozen config's fields Python's, which JSON knows."""
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if isinstance(value, numbers.Integral) and not isinstance(value, bool):
            object.__setattr__(config, field.name, int(value))
        elif isinstance(value, numbers.Real) and not isinstance(value, bool):
            object.__setattr__(config, field.name, float(value))


# Distances up to the largest have a place each in a table, which no file may make too large.
MOST_DISTANCE = 1 << 20


def check_size(name: str, value: object, least: int = 1, most: int | None = None) -> None:
    """Raises unless a value is an integer of at least `least`, and at most `most` if given."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an integer, got {value!r}.")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}.")
    if most is not None and value > most:
        raise ValueError(f"{name} must be at most {most}, got {value}.")


def check_number(name: str, value: object) -> None:
    """Raises unless a value is an integer or a float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, got {value!r}.")


def check_soft_cap(name: str, value: object) -> None:
    """Raises unless a value is None or a number that float32 divides by without a loss."""
    if value is None:
        return
    check_number(name, value)
    if not 1e-30 <= value <= 1e30:  # type: ignore[operator]
        raise ValueError(f"{name} must be positive, between 1e-30 and 1e30, or None, got {value}.")


def check_flag(name: str, value: object) -> None:
    """Raises unless a value is True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r}.")


def check_declared(config: Any, **names: str) -> None:
    """Raises unless each field that is declared as a flag or a choice, or as one or None, is one.

    Args:
        config: A dataclass; the types of its fields are no strings.
        **names: What errors call a field, if not by its name.
    """
    for field in dataclasses.fields(config):
        value, kinds = getattr(config, field.name), [field.type]
        if NoneType in get_args(field.type):
            kinds = [kind for kind in get_args(field.type) if kind is not NoneType]
            if value is None:
                continue
        name = names.get(field.name, field.name)
        if kinds == [bool]:
            check_flag(name, value)
        elif [get_origin(kind) for kind in kinds] == [Literal]:
            check_choice(name, value, get_args(kinds[0]))


def read_sequence(name: str, given: Any, kind: type[_Value]) -> tuple[_Value, ...]:
    """Returns values of a dataclass, each given as one or as its fields by name.

    Args:
        name: What errors call the sequence.
        given: The sequence.
        kind: The dataclass.

    Raises:
        ValueError: A field is out of range.
        TypeError: One of them is neither, or a field is unknown or of another type.
    """
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise TypeError(f"{name} must be a sequence of {kind.__name__}, got {given!r}.")
    found = tuple(kind(**one) if isinstance(one, Mapping) else one for one in given)
    for one in found:
        if not isinstance(one, kind):
            raise TypeError(f"{name} must hold {kind.__name__}, got {one!r}.")
    return found


def check_rate(name: str, value: float) -> None:
    """Raises unless a value is a probability below 1."""
    check_number(name, value)
    if not 0 <= value < 1:
        raise ValueError(f"{name} is a probability in [0, 1), got {value}.")


def check_share(name: str, value: float) -> None:
    """Raises unless a value is a share of pairs."""
    if not 0 <= value <= 1:
        raise ValueError(f"{name} is a share of pairs in [0, 1], got {value}.")


def check_choice(name: str, value: object, choices: Collection[str]) -> None:
    """Raises unless a value is one of the choices."""
    if value not in choices:
        hint = did_you_mean(value, choices) or "."
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}{hint}")
