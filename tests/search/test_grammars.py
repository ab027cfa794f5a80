"""The options that name a grammar, and the states of the hypotheses of a batch."""

from typing import Any

import numpy as np
import pytest

from keras_transformer.search.grammars import GrammarStates
from keras_transformer.search.options import SearchOptions


class Alternating:
    """A grammar of the ids 0 and 1 in turns."""

    def __init__(self, token: int = 0, is_whole: bool = False) -> None:
        self.allowed = np.arange(3) == token
        self.is_whole = is_whole

    def after(self, token: int) -> "Alternating | None":
        return None if token == 2 else Alternating(1 - token)


def test_a_schema_is_kept_as_text() -> None:
    assert SearchOptions(json_schema={"type": "object"}).json_schema == '{"type": "object"}'  # type: ignore[arg-type]
    assert SearchOptions(json_schema='{"type":"object"}').grammar == (
        "json_schema",
        '{"type": "object"}',
    )


@pytest.mark.parametrize(
    "given, error, message",
    [
        ({"json_schema": "{"}, ValueError, "json_schema must be a JSON schema, got '{'"),
        ({"json_schema": "[]"}, ValueError, "must be an object of JSON, or true"),
        ({"json_schema": False}, ValueError, "must be an object of JSON, or true"),
        ({"json_schema": "[" * 9999}, ValueError, "json_schema must be a JSON schema"),
        ({"json_schema": {"a": "x" * 32768}}, ValueError, "must have 1 to 32768 characters"),
        ({"regex": ""}, ValueError, "regex must have 1 to 4096 characters, got 0"),
        ({"regex": b"a"}, TypeError, "regex must be a string"),
        ({"regex": "\ud800"}, ValueError, "regex must be valid Unicode"),
        ({"choices": []}, ValueError, "choices must name 1 to 1024 texts, got 0"),
        ({"choices": "yes"}, TypeError, r"must be a list of strings, got 'yes': write \[text\]"),
        ({"choices": ["a", ""]}, ValueError, "each of choices must have 1 to"),
        ({"choices": ["a" * 65000] * 2}, ValueError, "65536 characters together, got 130000"),
        ({"regex": "a", "choices": ["a"]}, ValueError, "regex and choices exclude each other"),
        ({"regex": "a", "stop": "b"}, ValueError, "stop does not go with regex"),
        ({"regex": "a", "require": "b"}, ValueError, "require does not go with regex"),
        ({"regex": "a", "forced_tokens": [(0, 4)]}, ValueError, "forced_tokens does not go with"),
    ],
)
def test_what_cannot_be_a_grammar_is_refused(
    given: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        SearchOptions(**given)


def allowed(states: GrammarStates, histories: list[list[int]]) -> dict[int, list[int]]:
    rows = np.array(histories, np.int32)
    found = states.allowed(rows, range(len(rows)))
    return {row: np.flatnonzero(flags).tolist() for row, flags in found}


def test_each_row_is_where_its_own_tokens_lead() -> None:
    states = GrammarStates(Alternating(), [1, 0, 2])
    assert allowed(states, [[], [], []]) == {1: [0]}
    assert allowed(states, [[7], [0], [7]]) == {0: [0], 1: [1]}
    # The second row has ended.
    assert allowed(states, [[7, 0], [0, 2], [7, 7]]) == {0: [1], 2: [0]}
    assert allowed(states, [[7, 0, 1], [0, 2, 1], [7, 7, 0]]) == {0: [0], 2: [1]}
