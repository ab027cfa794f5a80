"""Grammars that a text must follow, as a search sees them: the options that name one, and the
states of the hypotheses of a batch.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

# The options of which one names a grammar.
GRAMMARS = ("json_schema", "regex", "choices")
# What a grammar costs before the first token grows with its length: these take a fraction of a
# second.
_MOST_SCHEMA, _MOST_REGEX = 2**15, 2**12
_MOST_CHOICES, _MOST_CHARACTERS = 2**10, 2**16

Flags = npt.NDArray[np.bool_]


class GrammarState(Protocol):
    """Where a text stands in a grammar.

    Attributes:
        allowed: Which ids may come next, bool `(vocabulary,)`; ends only where the text is whole.
        is_whole: Whether the text may end here.
    """

    @property
    def allowed(self) -> Flags: ...  # noqa: D102

    @property
    def is_whole(self) -> bool: ...  # noqa: D102

    def after(self, token: int) -> "GrammarState | None":
        """Returns the state after one more token; None after an end.

        Nothing is allowed after a token that was not allowed.
        """


class GrammarStates:
    """The states of a batch's hypotheses, by the tokens after each prompt.

    Args:
        start: The state of an empty text.
        begins: How many tokens each sentence's prompt or prefix has, to which no grammar applies.
    """

    def __init__(self, start: GrammarState, begins: Sequence[int]) -> None:
        self._start, self._begins = start, begins
        self._states: dict[tuple[int, bytes], GrammarState | None] = {}

    def allowed(
        self, histories: npt.NDArray[np.int32], sentences: Sequence[int]
    ) -> Iterator[tuple[int, Flags]]:
        """Yields each row whose text has begun and goes on, with the ids that may come next.

        It is called once for each step.

        Args:
            histories: The tokens so far of each row, `(rows, step)`.
            sentences: The sentence of each row.
        """
        before, self._states = self._states, {}
        for row, (sentence, tokens) in enumerate(zip(sentences, histories, strict=True)):
            said = tokens[self._begins[sentence] :]
            if len(tokens) < self._begins[sentence]:
                continue
            key = (sentence, said.tobytes())
            if key not in self._states:
                parent = before.get((sentence, said[:-1].tobytes())) if len(said) else None
                after = None if parent is None else parent.after(int(said[-1]))
                self._states[key] = after if len(said) else self._start
            if (state := self._states[key]) is not None:
                yield row, state.allowed


class UnfinishedError(ValueError):
    """Texts ended before they fulfilled their grammar.

    Args:
        texts: How many.
        grammar: The option that names it.
        max_length: Most tokens of each.
    """

    def __init__(self, texts: int, grammar: str, max_length: int) -> None:
        super().__init__(
            f"{texts} of the texts ended before they fulfilled {grammar}: raise max_length "
            f"({max_length}), or ask for something that ends sooner; generate_n_best returns such "
            "texts, with the stop_reason 'length', or None where the vocabulary could not go on."
        )


def checked_grammar(json_schema: Any, regex: Any, choices: Any) -> dict[str, Any]:
    """Returns the options that name a grammar, the schema as a string and choices as a tuple.

    Raises:
        TypeError: One is of the wrong type.
        ValueError: One is empty or too long, the schema is not JSON, or more than one is given.
    """
    found = {
        "json_schema": None if json_schema is None else _checked_schema(json_schema),
        "regex": None if regex is None else _checked_text("regex", regex, _MOST_REGEX),
        "choices": None if choices is None else _checked_choices(choices),
    }
    given = [name for name, value in found.items() if value is not None]
    if len(given) > 1:
        raise ValueError(f"{' and '.join(given)} exclude each other: give one of them.")
    return found


def _checked_schema(given: Any) -> str:
    try:
        schema = json.loads(given) if isinstance(given, str) else given
        text = json.dumps(schema)
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(
            f"json_schema must be a JSON schema, got {given!r:.60}: {error}"
        ) from error
    if schema is not True and not isinstance(schema, Mapping):
        raise ValueError(f"json_schema must be an object of JSON, or true, got {given!r:.60}.")
    return _checked_text("json_schema", text, _MOST_SCHEMA)


def _checked_choices(given: Any) -> tuple[str, ...]:
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise TypeError(f"choices must be a list of strings, got {given!r:.60}: write [text].")
    rows = tuple(given)
    if not 1 <= len(rows) <= _MOST_CHOICES:
        raise ValueError(f"choices must name 1 to {_MOST_CHOICES} texts, got {len(rows)}.")
    for one in rows:
        _checked_text("each of choices", one, _MOST_CHARACTERS)
    if (size := sum(map(len, rows))) > _MOST_CHARACTERS:
        raise ValueError(
            f"choices may have {_MOST_CHARACTERS} characters together, got {size}: shorten them."
        )
    return rows


def _checked_text(name: str, given: Any, most: int) -> str:
    if not isinstance(given, str):
        raise TypeError(f"{name} must be a string, got {given!r:.60}.")
    if not 1 <= len(given) <= most:
        raise ValueError(f"{name} must have 1 to {most} characters, got {len(given)}.")
    try:
        given.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{name} must be valid Unicode, got {given!r:.60}.") from error
    return given
