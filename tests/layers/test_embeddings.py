"""Embeddings: tokens and positions added, one token at a time or all at once, shared or not."""

from typing import Any

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


# Every option alone, and as BERT and Marian have them.
OPTIONS: list[dict[str, Any]] = [
    {"scale": False},
    {"add_positions": False},
    {"num_token_types": 2},
    {"norm_epsilon": 0.01},
    {"max_positions": 5, "position_offset": 2},
    {"position_offset": 3, "sinusoid_layout": "halves"},
    {"position_offset": 1, "sinusoid_layout": "tensor2tensor"},
    {
        "max_positions": 5,
        "num_token_types": 2,
        "norm_epsilon": 1e-12,
        "scale": False,
        "dropout": 0.3,
    },
]
TYPES = np.array([[0, 0, 1], [1, 0, 0]], np.int32)
every_option = pytest.mark.parametrize("options", OPTIONS, ids=str)


def positions_of(layer: Embeddings, paper: Any) -> np.ndarray:
    """The vectors of positions 0, 1 and 2 in float64."""
    first = layer.position_offset
    if layer.max_positions is not None:
        return np.asarray(layer.positions.matrix, np.float64)[first : first + 3]
    table = paper.positions(first + 3, layer.model_dim, layer.sinusoid_layout)[first:]
    return table if layer.add_positions else np.zeros_like(table)


@every_option
def test_every_option_equals_its_equation_in_float64(options: dict, paper, randomize) -> None:
    layer = Embeddings(7, 6, **options)
    layer(IDS, KEEP)
    randomize(layer)
    types = TYPES if layer.num_token_types else None
    expected = np.asarray(layer.tokens.matrix, np.float64)[IDS] * (6**0.5 if layer.scale else 1)
    expected += positions_of(layer, paper)[np.array([[0, 1, 2], [0, 1, 1]])]
    if types is not None:
        expected += np.asarray(layer.token_types.matrix, np.float64)[types]
    if layer.norm_epsilon is not None:
        expected = paper.layer_norm(layer.layer_norm, expected)
    np.testing.assert_allclose(layer(IDS, KEEP, types), expected, atol=2e-5)


@every_option
def test_with_every_option_steps_equal_the_whole(options: dict, randomize) -> None:
    layer = Embeddings(7, 6, **options)
    layer(IDS, KEEP)
    randomize(layer)
    whole = layer(IDS[:1], KEEP[:1])
    for place in range(3):
        found = layer.step(IDS[:1, place], place)[0, 0]
        np.testing.assert_allclose(found, whole[0, place], atol=1e-5)


def test_padding_on_the_left_moves_no_token() -> None:
    for options in OPTIONS:
        layer = Embeddings(7, 6, **options)
        ids = np.array([[0, 0, 3, 1, 4]], np.int32)
        np.testing.assert_allclose(
            layer(ids, ids != 0)[:, 2:], layer(ids[:, 2:], ids[:, 2:] != 0), atol=1e-6
        )


def test_an_offset_leaves_as_many_positions() -> None:
    layer = Embeddings(7, 6, max_positions=3, position_offset=2)
    layer(IDS, KEEP)
    assert layer.positions.matrix.shape == (5, 6)
    with pytest.raises(ValueError, match=r"4 tokens is longer than max_positions \(3\)"):
        layer(np.ones((1, 4), np.int32), np.ones((1, 4), bool))


def test_types_without_a_matrix_for_them_are_refused() -> None:
    with pytest.raises(ValueError, match="token_type_ids need embeddings with num_token_types"):
        Embeddings(7, 6)(IDS, KEEP, TYPES)


@pytest.mark.parametrize(
    ("model_dim", "options", "message"),
    [
        (6, {"num_token_types": -1}, "num_token_types must be at least 0, got -1"),
        (6, {"position_offset": -1}, "offset must be at least 0, got -1"),
        (
            6,
            {"sinusoid_layout": "thirds"},
            "must be one of interleaved, halves, tensor2tensor, got 'thirds'",
        ),
        (
            6,
            {"sinusoid_layout": "halves", "max_positions": 4},
            "'halves' needs .*, got add_positions=True and max_positions=4",
        ),
        (
            6,
            {"add_positions": False, "max_positions": 4, "position_offset": -7},
            "need add_positions=True, got max_positions=4 and position_offset=-7",
        ),
        (6, {"norm_epsilon": -1.0}, "epsilon must be above 0 and finite, got -1.0"),
        (5, {"sinusoid_layout": "halves"}, "'halves' needs an even model_dim of at least 2, got 5"),
        (
            2,
            {"sinusoid_layout": "tensor2tensor"},
            "'tensor2tensor' needs an even model_dim of at least 4, got 2",
        ),
    ],
)
def test_options_are_checked(model_dim: int, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Embeddings(7, model_dim, **options)


def test_a_scale_is_shared_with_the_matrix() -> None:
    with pytest.raises(ValueError, match="with and without a scale"):
        Embeddings(7, 6).share_tokens(Embeddings(7, 6, scale=False))
