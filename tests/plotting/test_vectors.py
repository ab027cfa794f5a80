"""The picture of word vectors has a point and a name for each word."""

from pathlib import Path

import numpy as np
import pytest

from keras_transformer.plotting.vectors import word_plane
from keras_transformer.vectors.files import VectorFile
from keras_transformer.vectors.neighbours import WordVectors


@pytest.fixture
def vectors(tmp_path: Path) -> WordVectors:
    (tmp_path / "v.txt").write_text("a 1 2\nb -1 0.5\nc 0 -3\n", "utf-8")
    return WordVectors(VectorFile.open(tmp_path / "v.txt"))


@pytest.mark.parametrize(("words", "shown"), [((), "abc"), (("c", "a"), "ca")])
def test_points_of_two_numbers_stand_where_they_are(vectors, words, shown: str) -> None:
    axes = word_plane(vectors, words).axes[0]
    assert [text.get_text() for text in axes.texts] == list(shown)
    expected = np.stack([vectors[word] for word in shown])
    np.testing.assert_array_equal(axes.collections[0].get_offsets(), expected)
