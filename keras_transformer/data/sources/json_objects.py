"""The JSON object of one line, and what can be wrong with it."""

import json
from collections.abc import Callable
from typing import Any, NoReturn


class LineError(ValueError):
    """What is wrong with a line, without file and number."""


def read_object(
    line: str,
    object_pairs_hook: Callable[[list[tuple[str, Any]]], dict[str, Any]] | None = None,
    parse_constant: Callable[[str], NoReturn] | None = None,
) -> dict[str, Any]:
    """Returns the object of a line.

    Args:
        line: The line.
        object_pairs_hook: As of `json.loads`; may raise `LineError`.
        parse_constant: Likewise.

    Raises:
        LineError: There is no JSON, or something else than an object.
    """
    try:
        record = json.loads(
            line, object_pairs_hook=object_pairs_hook, parse_constant=parse_constant
        )
    except LineError:
        raise
    except json.JSONDecodeError as error:
        what = f"{error.msg} at character {error.pos + 1}"
        raise LineError(f"expected a JSON object, got {line[:40]!r}: {what}.") from error
    except (ValueError, RecursionError) as error:  # of numbers and of lists too long or deep
        raise LineError(f"cannot read the JSON: {error}.") from error
    if not isinstance(record, dict):
        raise LineError(f"expected a JSON object, got {line[:40]!r}.")
    return record


def check_whole_characters(name: str, text: str) -> None:
    """Raises `LineError` if a text has half a character, which JSON can spell and UTF-8 cannot."""
    half = next((one for one in text if "\ud800" <= one <= "\udfff"), None)
    if half is not None:
        raise LineError(
            f"{name!r} has {ascii(half)}, half of a surrogate pair: write the whole character."
        )
