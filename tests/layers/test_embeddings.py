"""Embeddings: tokens and positions added, one token at a time or all at once, shared or not."""

import numpy as np
import pytest

from keras_transformer.layers import Embeddings

IDS = np.array([[3, 1, 4], [1, 5, 0]], np.int32)
KEEP = IDS != 0


@pytest.mark.parametrize("max_positions", [None, 4])
def test_is_scaled_tokens_plus_positions(max_positions: int | None, paper, randomize) -> None:
    layer = Embeddings(7, 6, max_positions)
    layer(IDS, KEEP)
    randomize(layer)
    table = paper.positions(3, 6) if max_positions is None else np.asarray(layer.positions.matrix)
    tokens = np.asarray(layer.tokens.matrix, np.float64)[IDS] * np.sqrt(6)
    places = np.array([[0, 1, 2], [0, 1, 1]])  # padding takes the last token's place
    np.testing.assert_allclose(layer(IDS, KEEP), tokens + table[places], atol=1e-5)


@pytest.mark.parametrize("max_positions", [None, 4])
def test_token_by_token_equals_the_whole(max_positions: int | None) -> None:
    layer = Embeddings(7, 6, max_positions)
    whole = layer(IDS[:1], KEEP[:1])
    for place in range(3):
        np.testing.assert_allclose(layer.step(IDS[:1, place], place)[0, 0], whole[0, place])


def test_shared_tokens_are_one_matrix() -> None:
    source, target = Embeddings(7, 6, 9), Embeddings(7, 6, 9)
    target.share_tokens(source)
    source(IDS, KEEP)
    target(IDS, KEEP)
    assert target.tokens is source.tokens
    assert len({weight.path for layer in (source, target) for weight in layer.weights}) == 3
    assert target.positions is not source.positions


def test_matrices_of_other_sizes_are_not_shared() -> None:
    with pytest.raises(ValueError, match="7 ids x 6 and of 8 x 6 cannot share a matrix"):
        Embeddings(7, 6).share_tokens(Embeddings(8, 6))
