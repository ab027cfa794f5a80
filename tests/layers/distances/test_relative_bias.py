"""Relative biases in buckets: against the definition, distance by distance."""

import numpy as np
import pytest

from keras_transformer.layers.distances.relative_bias import RelativeBias, distance_buckets

SIZES = [(32, 128), (8, 6), (4, 5), (10, 40), (64, 1000)]


def test_worked_example() -> None:
    # Distances 0 and 1 have buckets of their own; 2, 3 and 4 to 7 grow; 8 and more are the last.
    assert distance_buckets(4, 8).tolist() == [0, 1, 2, 2, 3, 3, 3, 3, 3]


@pytest.mark.parametrize("attends_ahead", [True, False])
@pytest.mark.parametrize(("buckets", "longest"), SIZES)
def test_buckets_are_those_of_the_definition(
    buckets: int, longest: int, attends_ahead: bool, paper
) -> None:
    layer = RelativeBias(2, buckets, longest, attends_ahead)
    queries, keys = np.arange(3, dtype=np.int32), np.arange(2 * longest, dtype=np.int32)
    for places in ((queries, keys), (keys, queries)):
        found = np.asarray(layer.buckets(*places))
        expected = [[paper.relative_bucket(layer, k - q) for k in places[1]] for q in places[0]]
        np.testing.assert_array_equal(found, expected)


def test_ahead_and_behind_are_told_apart_and_have_all_rows() -> None:
    layer = RelativeBias(2, 8, 6)
    places = np.arange(30, dtype=np.int32)
    rows = np.asarray(layer.buckets(places, places))
    # Half of the rows is for keys after the query, which distance 0 never is.
    assert set(np.unique(rows)) == {0, 1, 2, 3, 5, 6, 7}
    assert not set(rows[np.triu_indices(30, 1)]) & set(rows[np.tril_indices(30)])


def test_biases_are_rows_of_the_matrix(paper, randomize) -> None:
    layer = RelativeBias(3, 8, 6, attends_ahead=False)
    layer.build()
    randomize(layer)
    found = np.asarray(layer(np.zeros((2, 9, 1), np.float32)))
    assert found.shape == (1, 3, 9, 9)
    matrix = np.asarray(layer.matrix)
    for query in range(9):
        for key in range(9):
            row = matrix[paper.relative_bucket(layer, key - query)]
            np.testing.assert_array_equal(found[0, :, query, key], row)


def test_one_query_of_a_cache_has_its_row_of_the_whole(randomize) -> None:
    layer = RelativeBias(3, 8, 6, attends_ahead=False)
    places = np.arange(9, dtype=np.int32)
    whole = layer(np.zeros((2, 9, 1), np.float32))
    np.testing.assert_array_equal(layer.between(places[4:5], places), whole[:, :, 4:5])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((2, 7, 20), "num_buckets must be even and at least 4, got 7"),
        ((2, 2, 20), "num_buckets must be even and at least 4, got 2"),
        ((2, 8, 4), r"max_distance must be more than half of num_buckets \(8\), got 4"),
    ],
)
def test_sizes_are_checked(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RelativeBias(*arguments)
