"""Encoder blocks and their stack, against the paper's equations in float64."""

import keras
import numpy as np
import pytest

from keras_transformer.config import BlockOptions
from keras_transformer.layers import (
    Decoder,
    Encoder,
    EncoderBlock,
    FeedForward,
    MultiHeadAttention,
    Residual,
)

ARGUMENTS = {"num_heads": 2, "key_dim": 3, "value_dim": 5, "feed_forward_dim": 7, "dropout": 0.1}


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape)


def expected_block(paper, block: EncoderBlock, states: np.ndarray, keep: np.ndarray) -> np.ndarray:
    """Section 3.1: LayerNorm(x + Sublayer(x)) twice, or pre-norm's x + Sublayer(LayerNorm(x))."""

    def attend(states: np.ndarray) -> np.ndarray:
        return paper.multi_head(block.attention, states, states, keep)[0]

    def transform(states: np.ndarray) -> np.ndarray:
        return paper.feed_forward(block.feed_forward, states)

    for sublayer, residual in (
        (attend, block.attention_residual),
        (transform, block.feed_forward_residual),
    ):
        states = paper.residual(residual, states, sublayer)
    return states


@pytest.mark.parametrize("norm", ["post", "pre", "both", "output"])
def test_stack_equals_the_paper_in_float64(norm: str, paper, randomize) -> None:
    encoder = Encoder(BlockOptions(norm=norm, **ARGUMENTS).stack_of(2))
    states, keep = normal(2, 4, 6), np.array([[True] * 4, [True, True, False, False]])
    encoder(states, keep)
    randomize(encoder)
    outputs = encoder(states, keep)
    for row in range(2):
        expected = states[row]
        for block in encoder.blocks:
            expected = expected_block(paper, block, expected, np.tile(keep[row], (4, 1)))
        expected = paper.last(encoder, expected)
        np.testing.assert_allclose(outputs[row], expected, atol=2e-5)


def test_norms_are_counted() -> None:
    counts = {}
    for norm in ("post", "pre", "both"):
        encoder = Encoder(BlockOptions(norm=norm, **ARGUMENTS).stack_of(1))
        encoder.build((None, None, 6))
        counts[norm] = encoder.count_params()
    # One behind all blocks, and one more of each sub-layer.
    assert counts["pre"] == counts["post"] + 2 * 6
    assert counts["both"] == counts["pre"] + 2 * 2 * 6


def test_without_a_mask_every_place_is_real() -> None:
    encoder = Encoder(BlockOptions(**ARGUMENTS).stack_of(1))
    states = normal(2, 4, 6)
    np.testing.assert_array_equal(encoder(states), encoder(states, np.ones((2, 4), bool)))


def test_masked_places_change_no_real_one() -> None:
    encoder = Encoder(BlockOptions(**ARGUMENTS).stack_of(2))
    states, keep = normal(1, 4, 6), np.array([[True, False, True, True]])
    before = np.asarray(encoder(states, keep))
    states[0, 1] += 10
    after = np.asarray(encoder(states, keep))
    np.testing.assert_array_equal(after[keep], before[keep])
    assert (after[~keep] != before[~keep]).any()


@pytest.mark.parametrize("stack", [Encoder, Decoder])
def test_arguments_reach_the_parts(stack: type) -> None:
    options = BlockOptions(
        attention_dropout=0.3,
        activation_dropout=0.4,
        norm="pre",
        layer_norm_epsilon=1e-3,
        activation="gelu",
        **ARGUMENTS,
    )
    layer = stack(options.stack_of(2, attends_source=stack is Decoder))
    layer.build((None, None, 6))
    parts = [part for block in layer.blocks for part in block._flatten_layers(recursive=False)]
    attentions = [part for part in parts if isinstance(part, MultiHeadAttention)]
    assert len(attentions) == (2 if stack is Encoder else 4)
    for part in attentions:
        sizes = part.config.num_heads, part.config.key_dim, part.config.value_dim
        assert (*sizes, part.drop.rate) == (2, 3, 5, 0.3)
    residuals = [part for part in parts if isinstance(part, Residual)]
    assert len(residuals) == (4 if stack is Encoder else 6)
    for part in residuals:
        assert (part.config.place, part.drop.rate, part.layer_norm.epsilon) == ("pre", 0.1, 1e-3)
    feed_forwards = [part for part in parts if isinstance(part, FeedForward)]
    assert [part.hidden.units for part in feed_forwards] == [7, 7]
    assert [part.drop.rate for part in feed_forwards] == [0.4, 0.4]
    assert {part.hidden.activation for part in feed_forwards} == {keras.activations.gelu}
    assert layer.final_norm.epsilon == 1e-3


def test_an_empty_stack_is_refused() -> None:
    with pytest.raises(ValueError, match="num_layers must be at least 1, got 0"):
        Encoder(BlockOptions(**ARGUMENTS).stack_of(0))


def test_biases_of_each_block_need_buckets() -> None:
    with pytest.raises(ValueError, match="relative_per_block needs relative_buckets, got None"):
        Encoder(BlockOptions(relative_per_block=True, **ARGUMENTS).stack_of(1))
