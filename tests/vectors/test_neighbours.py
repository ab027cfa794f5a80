"""Neighbours and analogies equal gensim's; unknown words are told."""

from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors
from gensim.models.poincare import PoincareKeyedVectors

from keras_transformer.vectors.files import VectorFile
from keras_transformer.vectors.neighbours import WordVectors

WORDS = [f"w{number}" for number in range(30)]
ROWS = np.random.default_rng(0).normal(size=(30, 6)).astype(np.float32)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    keyed = KeyedVectors(6)
    keyed.add_vectors(WORDS, ROWS)
    keyed.save_word2vec_format(str(tmp_path / "v.txt"))
    return tmp_path / "v.txt"


def same(found, expected) -> None:
    assert [word for word, _ in found] == [word for word, _ in expected]
    np.testing.assert_allclose([v for _, v in found], [v for _, v in expected], rtol=1e-4)


def test_cosines_equal_those_of_gensim(file: Path) -> None:
    vectors, keyed = WordVectors(VectorFile.open(file)), VectorFile.open(file).load()
    same(vectors.neighbours("w3", 8), keyed.most_similar("w3", topn=8))
    expected = keyed.most_similar(positive=["w2", "w7"], negative=["w1"], topn=5)
    found = vectors.analogy("w1", "w2", "w7", 5)
    assert [word for word, _ in found] == [word for word, _ in expected]


def test_poincare_distances_equal_those_of_gensim(tmp_path: Path) -> None:
    keyed = KeyedVectors(6)
    keyed.add_vectors(WORDS, ROWS / (1.2 * np.linalg.norm(ROWS, axis=1).max()))
    keyed.save_word2vec_format(str(tmp_path / "p.txt"))
    vectors = WordVectors(VectorFile.open(tmp_path / "p.txt"), "poincare")
    found, between = vectors.neighbours("w3", 29), PoincareKeyedVectors.vector_distance
    np.testing.assert_allclose(
        [v for _, v in found], [between(keyed["w3"], keyed[w]) for w, _ in found], rtol=1e-5
    )
    assert [v for _, v in found] == sorted(v for _, v in found)


def test_a_plane_keeps_the_distances_of_what_lies_in_one(file: Path) -> None:
    keyed = KeyedVectors(3)
    corners = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]], np.float32)
    keyed.add_vectors(list("abcd"), corners)
    keyed.save_word2vec_format(str(file))
    points = WordVectors(VectorFile.open(file)).plane(list("abcd"))
    between = np.linalg.norm(points[:, None] - points, axis=-1)
    np.testing.assert_allclose(
        between, np.linalg.norm(corners[:, None] - corners, axis=-1), atol=1e-6
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda one: one.neighbours("w33"), "there is no vector of 'w33'"),
        (lambda one: one.neighbours("w3", 0), "count must be at least 1"),
    ],
)
def test_what_is_not_there_is_told(file: Path, call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(WordVectors(VectorFile.open(file)))


def test_long_vectors_have_no_poincare_distance(file: Path) -> None:
    with pytest.raises(ValueError, match="vectors of length 1 or more"):
        WordVectors(VectorFile.open(file), "poincare")
