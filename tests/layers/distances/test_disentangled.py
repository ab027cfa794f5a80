"""Vectors of distances as DeBERTa has them; the equations in float64 are in
`test_attention_options`.
"""

import numpy as np
import pytest

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.positions.disentangled import DisentangledConfig
from keras_transformer.layers.distances.disentangled import (
    DisentangledDistances,
    signed_buckets,
)


def test_near_distances_have_a_bucket_each_and_far_ones_share_them() -> None:
    found = signed_buckets(4, 7).tolist()
    # Of -7 to 7: the middle is 4, and those beyond 2 share the last two of either side.
    assert found == [0, 1, 1, 1, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7, 7]


@pytest.mark.parametrize("sizes", [(256, 512), (32, 66), (8, 20), (4, 4)])
def test_rows_grow_with_distances_and_stay_among_the_vectors(sizes: tuple[int, int]) -> None:
    found = signed_buckets(*sizes)
    assert (np.diff(found) >= 0).all()
    assert found.min() >= 0 and found.max() == 2 * sizes[0] - 1
    assert found[sizes[1]] == sizes[0]


@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (4, 4), (3, 8), (5, 2)])
def test_scores_are_those_of_each_distance(queries: int, keys: int, randomize) -> None:
    layer = DisentangledDistances(2, 3, 4, 6)
    layer.build()
    randomize(layer)
    drawn = np.random.default_rng(0)
    query, key = (
        drawn.standard_normal((2, 2, count, 3)).astype("float32") for count in (queries, keys)
    )
    found, rows = np.asarray(layer(query, key)), signed_buckets(4, 6)
    of_keys, of_queries = map(np.asarray, (layer.distance_keys, layer.distance_queries))
    for i in range(queries):
        for j in range(keys):
            row = rows[np.clip(i - j, -6, 6) + 6]
            expected = (query[:, :, i] * of_keys[row] + key[:, :, j] * of_queries[row]).sum(-1)
            np.testing.assert_allclose(found[:, :, i, j], expected, atol=1e-5)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"buckets": 5}, r"disentangled_buckets must be even, got 5"),
        ({"buckets": 2}, r"disentangled_buckets must be at least 4"),
        (
            {"max_distance": 1 << 31},
            r"relative_max_distance must be at most 1048576, got 2147483648",
        ),
        ({"buckets": 8, "max_distance": 5}, r"relative_max_distance must be more than half"),
    ],
)
def test_sizes_that_give_no_buckets_are_refused(fields: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DisentangledConfig(**fields)


def test_shared_heads_are_refused() -> None:
    with pytest.raises(ValueError, match=r"as many heads of keys as of queries, got .*=1 of 12"):
        EncoderConfig(vocab_size=9, disentangled_buckets=4, num_key_value_heads=1)
