"""Marian's vocabularies: lines of YAML that Marian wrote, JSON and lists are read as meant."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.formats.marian_vocabulary import (
    read_vocabulary,
    vocabulary_text,
)

# What `pymarian vocab` 1.12 writes of the pieces below: what YAML takes for a boolean, a number or
# a date has no quotes.
WRITTEN = (
    '</s>: 0\n<unk>: 1\n"\\x07": 2\n"!": 3\n"\\"q\\"": 4\n"\'s": 5\n"-": 6\n--: 7\n0x10: 8\n1: 9\n'
    '1e3: 10\n2020-01-01: 11\n":": 12\n"::": 13\n=: 14\n">>fra<<": 15\n\\: 16\na:b: 17\nno: 18\n'
    '"null": 19\ntrue: 20\n"~": 21\n\x85: 22\n\u2028: 23\n▁the: 24\n'
)
PIECES = [
    *("</s>", "<unk>", "\x07", "!", '"q"', "'s", "-", "--", "0x10", "1", "1e3", "2020-01-01"),
    *(":", "::", "=", ">>fra<<", "\\", "a:b", "no", "null", "true", "~", "\x85", "\u2028", "▁the"),
]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_marian_writes_is_read(end: str, tmp_path: Path) -> None:
    path = tmp_path / "vocab.yml"
    path.write_bytes(WRITTEN.replace("\n", end).encode())
    assert read_vocabulary(path) == {piece: token for token, piece in enumerate(PIECES)}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), unique=True))
def test_what_is_written_is_read(pieces: list[str], tmp_path: Path) -> None:
    path = tmp_path / "vocab.yml"
    path.write_text(vocabulary_text(["</s>", *(f"_{piece}" for piece in pieces)]), newline="")
    assert list(read_vocabulary(path)) == ["</s>", *(f"_{piece}" for piece in pieces)]


def test_json_and_a_piece_a_line_are_read(tmp_path: Path) -> None:
    expected = {"</s>": 0, "<unk>": 1, "▁a b": 2}
    (tmp_path / "vocab.json").write_text(json.dumps(expected, indent=1))
    (tmp_path / "vocab.txt").write_text("\n".join(expected) + "\n")
    assert read_vocabulary(tmp_path / "vocab.json") == expected
    assert read_vocabulary(tmp_path / "vocab.txt") == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"a: 0\na: 1\n", "the piece 'a' twice"),
        (b"a: 0\nb\n", "the line 'b', which is no `piece: id`"),
        (b"a: 0\n'a'b': 1\n", "which is no YAML"),
        (b'{"a": "0"}', "gives 'a' the id '0'"),
        (b'{"a": 0', "no vocabulary in JSON"),
        (b"\xff: 0\n", "no vocabulary in UTF-8"),
    ],
)
def test_damaged_files_are_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "vocab.yml"
    path.write_bytes(content)
    with pytest.raises(ImportRefusedError, match=message):
        read_vocabulary(path)
