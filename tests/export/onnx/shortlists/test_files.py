"""Shortlists of Marian and of CTranslate2 are read as these toolkits write them."""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.artefact.shortlist import Shortlist
from keras_transformer.export.onnx.shortlists.files import read_shortlist
from keras_transformer.text.tokenizer import Tokenizer


@pytest.fixture
def read(
    make_model: Callable[..., Any], tokenizer: Tokenizer, tmp_path: Path
) -> Callable[..., Shortlist]:
    """`read(content, **options)`: the shortlist of a file with this content."""
    config = make_model().config

    def call(content: str | bytes, **options: int) -> Shortlist:
        path = tmp_path / "file"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_shortlist(path, config, tokenizer, tokenizer, **options)

    return call


def lists(shortlist: Shortlist) -> dict[int, list[int]]:
    found = {i: shortlist.candidates(i).tolist() for i in range(shortlist.source_vocab_size)}
    return {token: row for token, row in found.items() if row}


def test_a_lexical_table_keeps_the_most_probable_targets(
    read: Callable[..., Shortlist], tokenizer: Tokenizer
) -> None:
    a, b, c = tokenizer.pieces([10, 11, 12])
    table = f"{a} {b} 0.25\n{b} {b} 0.5\n{c} {b} 0.25\nNULL {b} 0.9\n{c} NULL 0.9\n{a} {c} 1\n"
    assert lists(read(table, candidates=2)) == {11: [10, 11], 12: [10]}
    # The first ids, but for those that are never generated, and eos.
    assert read(table, frequent=6).always.tolist() == [1, 3, 4, 5]
    assert read(table, frequent=0).always.tolist() == [1, 3]


def test_a_map_of_ctranslate2_has_n_grams_and_pieces_of_every_text(
    read: Callable[..., Shortlist], tokenizer: Tokenizer
) -> None:
    a, b, c, d = tokenizer.pieces([10, 11, 12, 13])
    found = read(f"{a}\t{b} {c}\n{a} {b}\t{d}\n\t{a} {d}\n")
    # The n-gram's become those of its first piece.
    assert lists(found) == {10: [11, 12, 13]}
    assert found.always.tolist() == [1, 3, 10, 13]


def binary(offsets: list[int], ids: list[int], frequent: int = 5) -> bytes:
    """As marian-dev's `BinaryShortlistGenerator` lays it out; the checksum is not looked at."""
    header = struct.pack("<6Q", 0xF11A48D5013417F5, 0, frequent, 9, len(offsets), len(ids))
    return header + struct.pack(f"<{len(offsets)}Q{len(ids)}I", *offsets, *ids)


def test_a_binary_shortlist_of_marian_holds_ids(read: Callable[..., Shortlist]) -> None:
    found = read(binary([0, 0, 2, 3], [4, 9, 7]))
    assert lists(found) == {1: [4, 9], 2: [7]}
    assert found.always.tolist() == [1, 3, 4]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "made for another vocabulary"),
        ("Haus house 0.5\n", "made for another vocabulary"),
        ("Haus house\n", "line 1: expected `target source probability`"),
        ("a\tb\nc\td\te\n", "line 2: expected the pieces of a source n-gram"),
        (binary([0, 2], [4])[:-1], "copy it again"),
        (binary([0] * 62, []), "made for 61 source ids, but the model has 60"),
        (binary([0, 2, 1, 3], [4, 9, 7]), "offsets must begin with 0 and not decrease"),
        (binary([1, 2, 3], [4, 9, 7]), "offsets must begin with 0 and not decrease"),
        (binary([0, 10**6, 3], [4, 9, 7]), "offsets must begin with 0 and not decrease"),
        (binary([0, 2**63 + 5, 3], [4, 9, 7]), "offsets must begin with 0 and not decrease"),
        (binary([0, 1], [60]), "does not fit the model: ids must lie in 0 to 59"),
    ],
)
def test_files_that_do_not_fit_are_refused(
    read: Callable[..., Shortlist], content: str | bytes, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        read(content)
