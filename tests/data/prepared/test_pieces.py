"""Pieces: ids as in memory, pairs scattered evenly and always alike, segments joined in order."""

import numpy as np
import pytest

from keras_transformer.data.encoding.encode import encode_pairs
from keras_transformer.data.prepared.pieces import (
    PieceSettings,
    read_dropped,
    read_segments,
    scatter,
    tokenize_piece,
)
from keras_transformer.data.sources.corpus import Pairs
from keras_transformer.text.tokenizer import train_tokenizer

ENGLISH = [f"the {color} {thing}" for color in ("red", "old", "") for thing in ("house", "cat")]
ENGLISH += ["", "a house and a house and a house"]
GERMAN = [f"{color} {thing}" for color in ("rot", "alt", "nur") for thing in ("Haus", "Katze")]
GERMAN += ["leer", "Haus"]
SHARDS = 3


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory):
    directory = tmp_path_factory.mktemp("tokenizers")
    found = train_tokenizer(ENGLISH, 26, "bpe"), train_tokenizer(GERMAN, 26, "bpe")
    for name, tokenizer in zip(("source", "target"), found, strict=True):
        tokenizer.save(directory / name)
    return directory, *found


@pytest.fixture
def made(tokenizers, tmp_path):
    """The corpus in pieces of three lines, and the settings that made them."""
    directory = tokenizers[0]
    made_with = PieceSettings(
        tmp_path, 3, directory / "source", directory / "target", 12, SHARDS, seed=5
    )
    pairs = list(zip(ENGLISH, GERMAN, strict=True))
    for number in range(3):
        tokenize_piece(made_with, number, pairs[3 * number : 3 * number + 3])
    return made_with


def test_the_shards_hold_together_what_is_encoded_in_memory(made, tokenizers):
    in_memory = encode_pairs(Pairs(ENGLISH, GERMAN, "example"), *tokenizers[1:], max_length=12)
    found = {}
    for shard in range(SHARDS):
        part = read_segments(made, 3, shard)
        assert part.pair_numbers.tolist() == sorted(part.pair_numbers.tolist())
        for row, number in enumerate(part.pair_numbers.tolist()):
            found[number] = part.source[row].tolist(), part.target[row].tolist()
    assert found == {
        number: (in_memory.source[row].tolist(), in_memory.target[row].tolist())
        for row, number in enumerate(in_memory.pair_numbers.tolist())
    }


def test_what_was_dropped_is_counted(made):
    assert [read_dropped(made.path(number)) for number in range(3)] == [(0, 0), (0, 0), (1, 1)]


def test_pieces_of_which_nothing_is_left_are_no_error(tokenizers, tmp_path):
    directory = tokenizers[0]
    made_with = PieceSettings(
        tmp_path, 2, directory / "source", directory / "target", 12, SHARDS, seed=5
    )
    tokenize_piece(made_with, 0, [("", "Haus"), ("cat", " ")])
    assert read_dropped(made_with.path(0)) == (2, 0)
    assert len(read_segments(made_with, 1, 0)) == 0


@pytest.mark.parametrize("count", [0, 1, 7, 8, 1000])
def test_shards_get_nearly_as_many_pairs_each(count):
    shards = scatter(count, 8, seed=0, number=3)
    sizes = np.bincount(shards, minlength=8)
    assert sizes.sum() == count and sizes.max() - sizes.min() <= 1


def test_scattering_is_random_by_seed_and_piece_and_always_alike():
    drawn = {
        (seed, number): tuple(scatter(200, 8, seed, number)) for seed in (0, 1) for number in (0, 1)
    }
    assert len(set(drawn.values())) == 4
    # Written down: a prepared corpus is the same on every machine and with every numpy.
    assert scatter(8, 4, 0, 0).tolist() == [1, 3, 2, 2, 1, 0, 3, 0]


def test_the_rest_of_an_uneven_division_goes_to_no_shard_more_often():
    extra = sum(np.bincount(scatter(9, 8, 0, number), minlength=8) for number in range(2000))
    assert extra.min() > 0.9 * extra.mean()
