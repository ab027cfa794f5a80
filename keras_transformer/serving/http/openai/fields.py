"""The fields of a request's body, each read once with its type and range; fields that are left are
unknown, and refused by name unless they have no effect.
"""

from collections.abc import Collection, Mapping
from typing import Any

from keras_transformer.serving.errors import ServingError, refusal
from keras_transformer.suggestions import did_you_mean

_MOST_SHOWN = 60


class Fields:
    """The fields of a body; null counts as left out.

    Args:
        body: The body.
    """

    def __init__(self, body: Mapping[str, Any]) -> None:
        self._left = {name: value for name, value in body.items() if value is not None}
        self._asked: set[str] = set()

    def __contains__(self, name: str) -> bool:
        """Tells whether a field is given and was not taken yet."""
        self._asked.add(name)
        return name in self._left

    def peek(self, name: str) -> Any:
        """Returns a field's value, which is still to be taken; None if it is left out."""
        return self._left.get(name)

    def take(self, name: str, default: Any = None) -> Any:
        """Returns a field's value as it is."""
        self._asked.add(name)
        return self._left.pop(name, default)

    def required(self, name: str) -> Any:
        """Returns a field's value as it is.

        Raises:
            ServingError: It is missing.
        """
        if name not in self:
            raise refusal(f"the field {name!r} is missing.", name)
        return self.take(name)

    def text(self, name: str, default: str | None = None) -> Any:
        """Returns a string."""
        if name not in self:
            return default
        return checked_text(name, self.take(name))

    def flag(self, name: str, default: bool = False) -> bool:
        """Returns true or false."""
        value = self.take(name, default)
        if not isinstance(value, bool):
            raise wrong(name, "true or false", value)
        return value

    def integer(
        self, name: str, default: Any = None, *, least: int, most: int, used: int | None = None
    ) -> Any:
        """Returns an integer in a range.

        Args:
            name: The field.
            default: What it is if it is left out.
            least: The least.
            most: The most.
            used: What larger ones count as, for messages; None if all count.
        """
        if name not in self:
            return default
        value = self.take(name)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            more = "" if used is None else f" (more than {used} count as {used} here)"
            raise wrong(name, f"an integer from {least} to {most}{more}", value)
        return value

    def number(self, name: str, *, least: float, most: float, above: bool = False) -> Any:
        """Returns a number in a range, None if it is left out.

        Args:
            name: The field.
            least: The least.
            most: The most.
            above: Whether `least` itself is refused.
        """
        if name not in self:
            return None
        value = self.take(name)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        # Of an integer that no float holds only comparisons are defined.
        if not is_number or not least <= value <= most:
            raise wrong(name, f"a number from {least:g} to {most:g}", value)
        if above and value == least:
            raise wrong(name, f"a number above {least:g}", value)
        return float(value)

    def choice(self, name: str, choices: Collection[str], default: str) -> str:
        """Returns one of several strings."""
        value = self.take(name, default)
        if not isinstance(value, str) or value not in choices:
            raise wrong(name, " or ".join(map(repr, choices)), value)
        return value

    def strings(self, name: str) -> list[str]:
        """Returns a string, or a list of strings, as a list; none if it is left out."""
        value = self.take(name, [])
        rows = value if isinstance(value, list) else [value]
        return [checked_text(name, one) for one in rows]

    def texts(self, name: str) -> list[str]:
        """Returns a string, or several in a list, as a list.

        Raises:
            ServingError: There is none, or it is of another type.
        """
        given = self.required(name)
        rows = [given] if isinstance(given, str) else given
        if not isinstance(rows, list) or not rows:
            raise wrong(name, "a string or a list of strings", given)
        return [checked_text(name, one) for one in rows]

    def finish(self, silent: Collection[str], neutral: Mapping[str, Collection[Any]]) -> None:
        """Checks that nothing is left that would change an answer.

        Args:
            silent: Fields without an effect, whatever they hold.
            neutral: Fields that are not supported, with the values that have no effect.

        Raises:
            ServingError: Another field is left; the message names it.
        """
        for name, value in self._left.items():
            if name in silent or any(_is_same(value, one) for one in neutral.get(name, ())):
                continue
            if name in neutral:
                raise refusal(f"{name} is not supported here: leave it out.", name)
            hint = did_you_mean(name[:_MOST_SHOWN], sorted({*self._asked, *silent}))
            raise refusal(f"unknown field {name!r}{hint or ': leave it out.'}", name)


def checked_text(name: str, value: Any) -> str:
    """Returns a value that is a string of Unicode.

    Raises:
        ServingError: It is not.
    """
    if not isinstance(value, str):
        raise wrong(name, "a string", value)
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise refusal(f"{name} has half a surrogate pair.", name) from error
    return value


def _is_same(value: Any, other: Any) -> bool:
    # To Python, true is 1.
    return value == other and isinstance(value, bool) == isinstance(other, bool)


def wrong(name: str, expected: str, value: Any) -> ServingError:
    """Returns the error for a field's value."""
    shown = repr(value)
    shown = shown if len(shown) <= _MOST_SHOWN else shown[:_MOST_SHOWN] + "…"
    return refusal(f"{name} must be {expected}, got {shown}.", name)
