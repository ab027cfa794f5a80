"""Adaptive input against its equations in float64."""

import numpy as np
import pytest

from keras_transformer.layers import AdaptiveEmbedding

IDS = np.array([[0, 3, 4, 10], [7, 6, 2, 5]], np.int32)


@pytest.fixture(scope="module")
def layer() -> AdaptiveEmbedding:
    made = AdaptiveEmbedding(11, 8, cutoffs=[4, 7], div_value=2)
    made.build()
    return made


def test_an_id_has_its_clusters_row_times_its_clusters_projection(layer: AdaptiveEmbedding) -> None:
    expected = np.empty((*IDS.shape, 8))
    for place, word in np.ndenumerate(IDS):
        cluster = int(word >= 4) + int(word >= 7)
        row = np.asarray(layer.matrices[cluster], np.float64)[word - (0, 4, 7)[cluster]]
        projected = row @ np.asarray(layer.projections[cluster], np.float64)
        expected[place] = np.sqrt(8) * projected
    np.testing.assert_allclose(layer(IDS), expected, atol=1e-5)
    assert [one.shape for one in layer.matrices] == [(4, 8), (3, 4), (4, 2)]


def test_the_matrix_has_the_vector_of_every_id(layer: AdaptiveEmbedding) -> None:
    vectors = np.asarray(layer(np.arange(11, dtype="int32")[None]))[0]
    np.testing.assert_allclose(layer.matrix, vectors / np.sqrt(8), atol=1e-6)


@pytest.mark.parametrize(
    ("cutoffs", "div_value", "message"),
    [
        ([7, 4], 2, "cutoffs must rise .* of 11 ids, got 7, 4"),
        ([4, 11], 2, "must rise and be smaller than the vocabulary of 11"),
        ([0], 2, "each of cutoffs must be at least 1, got 0"),
        ([4, 7], 4, "div_value=4 leaves vectors of width 0 to the last of 3 clusters"),
    ],
)
def test_clusters_that_cannot_be_are_refused(
    cutoffs: list[int], div_value: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        AdaptiveEmbedding(11, 8, cutoffs, div_value)
