"""Decoder blocks and their stack: against the paper, and one token at a time."""

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import BlockConfig, BlockOptions, StackConfig
from keras_transformer.layers import Decoder, DecoderBlock
from keras_transformer.layers.decoder.block import write_cache

ARGUMENTS = {"num_heads": 2, "key_dim": 3, "value_dim": 5, "feed_forward_dim": 7}
BATCH, TARGET, SOURCE, WIDTH = 2, 4, 5, 6
KEEP = np.array([[True] * 4, [True, True, True, False]])
SOURCE_KEEP = np.array([[True] * 5, [True, True, False, False, False]])


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


@pytest.fixture(params=["post", "pre"])
def decoder(request, randomize) -> Decoder:
    decoder = Decoder(
        BlockOptions(norm=request.param, **ARGUMENTS).stack_of(2, attends_source=True)
    )
    decoder.build((None, None, WIDTH))
    return randomize(decoder)


def expected_block(
    paper,
    block: DecoderBlock,
    states: np.ndarray,
    encoder_states: np.ndarray,
    keep: np.ndarray,
    source_keep: np.ndarray,
) -> np.ndarray:
    causal = np.tril(np.ones((len(states), len(states)), bool))

    def attend(states: np.ndarray) -> np.ndarray:
        return paper.multi_head(block.self_attention, states, states, causal & keep)[0]

    def attend_source(states: np.ndarray) -> np.ndarray:
        mask = np.tile(source_keep, (len(states), 1))
        return paper.multi_head(block.cross_attention, states, encoder_states, mask)[0]

    def transform(states: np.ndarray) -> np.ndarray:
        return paper.feed_forward(block.feed_forward, states)

    for sublayer, residual in (
        (attend, block.self_attention_residual),
        (attend_source, block.cross_attention_residual),
        (transform, block.feed_forward_residual),
    ):
        if block.config.norm.place == "post":
            states = paper.layer_norm(residual.layer_norm, states + sublayer(states))
        else:
            states = states + sublayer(paper.layer_norm(residual.layer_norm, states))
    return states


def test_stack_equals_the_paper_in_float64(decoder: Decoder, paper) -> None:
    states, source = normal(BATCH, TARGET, WIDTH), normal(BATCH, SOURCE, WIDTH, seed=1)
    outputs = decoder(states, source, KEEP, SOURCE_KEEP)
    for row in range(BATCH):
        expected = states[row].astype(float)
        for block in decoder.blocks:
            expected = expected_block(
                paper, block, expected, source[row].astype(float), KEEP[row], SOURCE_KEEP[row]
            )
        if decoder.final_norm is not None:
            expected = paper.layer_norm(decoder.final_norm, expected)
        np.testing.assert_allclose(outputs[row], expected, atol=5e-5)


def test_a_later_place_changes_no_earlier_one(decoder: Decoder) -> None:
    states, source = normal(1, TARGET, WIDTH), normal(1, SOURCE, WIDTH, seed=1)
    masks = (np.ones((1, TARGET), bool), np.ones((1, SOURCE), bool))
    before = np.asarray(decoder(states, source, *masks))
    states[0, 2] += 5
    after = np.asarray(decoder(states, source, *masks))
    changed = (after != before).any(axis=-1)[0]
    np.testing.assert_array_equal(changed, [False, False, True, True])


def test_masked_source_places_change_nothing(decoder: Decoder) -> None:
    states, source = normal(BATCH, TARGET, WIDTH), normal(BATCH, SOURCE, WIDTH, seed=1)
    before = np.asarray(decoder(states, source, KEEP, SOURCE_KEEP))
    source[~SOURCE_KEEP] += 9
    np.testing.assert_array_equal(decoder(states, source, KEEP, SOURCE_KEEP), before)


@pytest.mark.parametrize("beams", [1, 3])
def test_step_by_step_equals_the_whole(decoder: Decoder, beams: int) -> None:
    """Beams stand side by side in the rows while the source's keys are held once a sentence."""
    rows = BATCH * beams
    states, source = normal(rows, TARGET, WIDTH), normal(BATCH, SOURCE, WIDTH, seed=1)
    whole = decoder(
        states,
        np.repeat(source, beams, axis=0),
        np.ones((rows, TARGET), bool),
        np.repeat(SOURCE_KEEP, beams, axis=0),
    )
    cross = decoder.project(source)
    shapes = [(rows, 2, TARGET + 2, width) for width in (3, 5)]
    # What stands behind the newest position must not be read.
    caches = [tuple(tf.fill(shape, 7.0) for shape in shapes)] * 2
    for step in range(TARGET):
        outputs, caches = decoder.step(
            states[:, step : step + 1], tf.constant(step), SOURCE_KEEP, cross, caches
        )
        np.testing.assert_allclose(outputs[:, 0], whole[:, step], atol=1e-5)


def test_write_cache_changes_one_position() -> None:
    cache, new = normal(2, 3, 4, 2), normal(2, 3, 1, 2, seed=1)
    written = np.asarray(write_cache(cache, new, 2))
    np.testing.assert_array_equal(written[:, :, 2:3], new)
    np.testing.assert_array_equal(np.delete(written, 2, axis=2), np.delete(cache, 2, axis=2))


def test_write_cache_keeps_the_buffers_dtype() -> None:
    cache = tf.zeros((1, 1, 2, 2), tf.bfloat16)
    assert write_cache(cache, tf.ones((1, 1, 1, 2), tf.float32), 0).dtype == tf.bfloat16


@pytest.fixture(params=["post", "pre"])
def alone(request, randomize) -> Decoder:
    """A decoder-only stack."""
    decoder = Decoder(BlockOptions(norm=request.param, **ARGUMENTS).stack_of(2))
    decoder.build((None, None, WIDTH))
    return randomize(decoder)


def test_a_stack_without_a_source_equals_the_paper_in_float64(alone: Decoder, paper) -> None:
    states = normal(BATCH, TARGET, WIDTH)
    outputs = alone(states, keep_mask=KEEP)
    causal = np.tril(np.ones((TARGET, TARGET), bool))
    for row in range(BATCH):
        expected = states[row].astype(float)
        for block in alone.blocks:
            for sub_layer in block.sub_layers:
                layer, norm = sub_layer.layer, sub_layer.residual.layer_norm
                is_post = block.config.norm.place == "post"
                inputs = expected if is_post else paper.layer_norm(norm, expected)
                if sub_layer.attends_to == "own":
                    change = paper.multi_head(layer, inputs, inputs, causal & KEEP[row])[0]
                else:
                    change = paper.feed_forward(layer, inputs)
                expected = expected + change
                if is_post:
                    expected = paper.layer_norm(norm, expected)
        if alone.final_norm is not None:
            expected = paper.layer_norm(alone.final_norm, expected)
        np.testing.assert_allclose(outputs[row], expected, atol=5e-5)


def test_a_stack_without_a_source_has_no_weights_for_one(alone: Decoder, decoder: Decoder) -> None:
    kinds = [[part.attends_to for part in block.sub_layers] for block in alone.blocks]
    assert kinds == [["own", None]] * 2
    assert [part.attends_to for part in decoder.blocks[0].sub_layers] == ["own", "source", None]
    assert not any("cross_attention" in weight.path for weight in alone.weights)


def test_step_by_step_equals_the_whole_without_a_source(alone: Decoder) -> None:
    states = normal(BATCH, TARGET, WIDTH)
    whole = alone(states)
    shapes = [(BATCH, 2, TARGET + 2, width) for width in (3, 5)]
    caches = [tuple(tf.fill(shape, 7.0) for shape in shapes)] * 2
    for step in range(TARGET):
        outputs, caches = alone.step(
            states[:, step : step + 1], tf.constant(step), None, [None, None], caches
        )
        np.testing.assert_allclose(outputs[:, 0], whole[:, step], atol=1e-5)


@pytest.mark.parametrize("kind", [DecoderBlock, Decoder])
def test_a_source_is_given_where_it_is_read_and_nowhere_else(kind: type) -> None:
    options = BlockOptions(**ARGUMENTS)

    def config(attends_source: bool) -> BlockConfig | StackConfig:
        if kind is Decoder:
            return options.stack_of(1, attends_source=attends_source)
        return options.block(attends_source=attends_source)

    states = normal(BATCH, TARGET, WIDTH)
    with pytest.raises(ValueError, match=r"encoder_states are needed, .*source=None"):
        kind(config(True))(states)
    source = {"encoder_states": normal(BATCH, SOURCE, WIDTH), "source_keep_mask": SOURCE_KEEP}
    with pytest.raises(ValueError, match="not read encoder_states and source_keep_mask: leave"):
        kind(config(False))(states, **source)
