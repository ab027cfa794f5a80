"""Stop strings: found across pieces, and what may begin one is held back."""

from typing import Any

import pytest

from keras_transformer.search.options import SearchOptions
from keras_transformer.search.stops import StopFilter


def split(text: str, sizes: list[int]) -> list[str]:
    pieces, place = [], 0
    while place < len(text):
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(text[place : place + size])
        place += size
    return pieces


@pytest.mark.parametrize("sizes", [[1], [2], [3, 1], [7], [100]], ids=str)
@pytest.mark.parametrize(
    ("text", "stop", "wanted"),
    [
        ("one two three", ["two"], "one "),
        ("aabaabaac", ["aabaac"], "aab"),
        ("ababab", ["abac", "bb"], "ababab"),
        ("text ends in sto", ["stop"], "text ends in sto"),
        ("stop", ["stop"], ""),
        ("naïve 😀 end", ["😀"], "naïve "),
        ("x\n\ny", ["\n\n", "y"], "x"),
    ],
)
def test_a_text_ends_before_its_first_stop_however_it_arrives(
    sizes: list[int], text: str, stop: list[str], wanted: str
) -> None:
    found, said = StopFilter(stop), ""
    for piece in split(text, sizes):
        said += found.add(piece)
        # What has been said is never taken back, and never reaches into a stop.
        assert wanted.startswith(said)
    assert said + found.finish() == wanted
    assert found.stopped == (wanted != text)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"stop": ""}, ValueError, "stop must hold strings of 1 to 256 characters, got one of 0"),
        ({"stop": ["a", ""]}, ValueError, "1 to 256 characters, got one of 0"),
        ({"stop": "a" * 257}, ValueError, "got one of 257"),
        ({"stop": ["a"] * 65}, ValueError, "stop may name at most 64, got 65"),
        ({"stop": 3}, TypeError, "stop must be a string or a list of strings, got 3"),
        ({"stop": b"end"}, TypeError, "got b'end'"),
        ({"stop": ["a", 3]}, TypeError, "got 3 in it"),
        ({"stop": ["\ud800"]}, ValueError, "valid Unicode"),
        ({"stop_tokens": 3}, TypeError, "stop_tokens must be a list of token ids, got 3"),
        ({"stop_tokens": "ab"}, TypeError, "got 'ab'"),
        ({"stop_tokens": [True]}, TypeError, r"got \[True\]"),
        ({"stop_tokens": [1.5]}, TypeError, r"got \[1.5\]"),
        ({"stop_tokens": [-1]}, ValueError, "from 0 on, got -1"),
        ({"stop_tokens": range(65)}, ValueError, "at most 64, got 65"),
    ],
)
def test_bad_stops_are_named(options: dict[str, Any], kind: type, message: str) -> None:
    with pytest.raises(kind, match=message):
        SearchOptions(**options)


def test_one_string_is_one_stop() -> None:
    assert SearchOptions(stop="end").stop == ("end",)
    assert SearchOptions(stop=["a", "b"], stop_tokens=[4]).stop_tokens == (4,)
