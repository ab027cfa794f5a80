"""Decoders with a memory: segments equal one pass, nothing leaks, the oldest is forgotten; and the
equations of Dai et al. 2019 in float64, over three segments.
"""

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.layers.decoder.memory import Memory
from keras_transformer.models.decoder_only import DecoderOnly, build_decoder

SIZES: dict[str, Any] = {
    "vocab_size": 24,
    "model_dim": 12,
    "feed_forward_dim": 20,
    "num_heads": 3,
    "num_layers": 3,
    "positions": "none",
    "max_positions": None,
    "memory_length": 4,
}
RELATIVE: list[dict[str, Any]] = [
    {"relative_sinusoids": True, "norm": "post", "use_bias": False},
    {"relative_sinusoids": True, "memory_length": 30, "logit_bias": True},
    {"rotary_base": 100.0, "key_dim": 4, "num_heads": 6, "num_key_value_heads": 2},
    {"relative_buckets": 4, "relative_max_distance": 5, "relative_per_block": True},
]
CUTS = [(0, 3), (3, 4), (4, 10), (10, 14)]
IDS = np.random.default_rng(1).integers(5, 24, (3, 14)).astype("int32")


@pytest.fixture(scope="module")
def make(randomize) -> Any:
    """`make(**fields)`: a small decoder with a memory and random weights."""
    return lambda **fields: randomize(build_decoder(DecoderConfig(**{**SIZES, **fields})))


@pytest.fixture(scope="module")
def model(make) -> DecoderOnly:
    """One with relative sinusoids."""
    return make(relative_sinusoids=True)


def read(model: DecoderOnly, ids: np.ndarray, cuts: Any = CUTS, training: bool = False) -> Any:
    """The states of segments, joined, and the last memory."""
    memory, found = model.empty_memory(len(ids)), []
    for begin, end in cuts:
        states, memory = model.read_on(ids[:, begin:end], memory, training)
        found.append(states)
    return np.concatenate(found, axis=1), memory


@pytest.mark.parametrize("fields", RELATIVE, ids=str)
def test_segments_equal_one_pass(fields: dict, make) -> None:
    model = make(**fields)
    whole = model.prediction_states({"token_ids": IDS})
    np.testing.assert_allclose(read(model, IDS)[0], whole, atol=2e-5)


def test_a_wider_window_reads_all_of_the_memory_and_the_segment(make) -> None:
    wide, narrow = (make(relative_sinusoids=True, window=each) for each in (10, None))
    found, expected = read(wide, IDS)[0], read(narrow, IDS)[0]
    np.testing.assert_allclose(found[:, :4], expected[:, :4], atol=2e-5)
    # The sixth token of the third segment reads four of the memory and its own five.
    assert np.abs(found[:, 9] - expected[:, 9]).max() > 1e-3


def test_the_future_never_leaks(model: DecoderOnly) -> None:
    changed = IDS.copy()
    changed[:, 8:] = 5 + (changed[:, 8:] + 3) % 19
    before, after = (read(model, ids)[0] for ids in (IDS, changed))
    np.testing.assert_array_equal(before[:, :8], after[:, :8])
    assert np.abs(before[:, 8:] - after[:, 8:]).min() > 0


def test_the_past_is_read_as_far_as_blocks_and_memory_reach(model: DecoderOnly) -> None:
    ids = np.concatenate([IDS, IDS[:, ::-1]], axis=1)
    changed = ids.copy()
    changed[:, 0] = 23
    cuts = [(begin, begin + 4) for begin in range(0, 28, 4)]
    moved = np.abs(read(model, ids, cuts)[0] - read(model, changed, cuts)[0]).max(axis=(0, 2))
    reach = model.config.num_layers * model.config.memory_length
    assert moved[1 : reach + 1].min() > 0 and moved[reach + 1 :].max() == 0


def test_a_batch_equals_its_rows(model: DecoderOnly) -> None:
    together = read(model, IDS)[0]
    for place, row in enumerate(IDS):
        np.testing.assert_allclose(together[place], read(model, row[None])[0][0], atol=1e-5)


def test_padding_is_not_remembered(model: DecoderOnly) -> None:
    padded = np.pad(IDS[:, :3], ((0, 0), (0, 2)))
    _, memory = model.read_on(padded, model.empty_memory(3))
    assert memory.keep_mask.numpy().sum(axis=1).tolist() == [2, 2, 2]
    states, _ = model.read_on(IDS[:, 3:6], model.empty_memory(3))
    forgotten = memory.going_on(keras.ops.zeros(3, "int32"))
    np.testing.assert_allclose(model.read_on(IDS[:, 3:6], forgotten)[0], states, atol=1e-5)


def test_no_gradient_goes_into_the_memory(model: DecoderOnly) -> None:
    with tf.GradientTape() as tape:
        _, memory = model.read_on(IDS[:, :5], model.empty_memory(3), training=True)
        remembered = sum(keras.ops.sum(states) for states in memory.states)
    assert tape.gradient(remembered, model.embeddings.tokens.matrix) is None


def test_a_saved_model_remembers_as_the_live_one(model: DecoderOnly, tmp_path: Path) -> None:
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(read(loaded, IDS)[0], read(model, IDS)[0])


def test_recomputation_changes_neither_states_nor_memory(model: DecoderOnly) -> None:
    plain = read(model, IDS, training=True)
    model.recompute_activations()
    again = read(model, IDS, training=True)
    model.recompute_activations(False)
    assert plain[0].shape == again[0].shape
    assert [one.shape for one in plain[1].states] == [one.shape for one in again[1].states]


def test_equals_the_equations_in_float64_over_three_segments(make, paper) -> None:
    """Section 3.3 of the paper, each segment's layers on what they read of the ones before."""
    model = make(relative_sinusoids=True, norm="post", window=10)
    cuts = [(0, 4), (4, 9), (9, 14)]
    found = read(model, IDS[:1], cuts)[0][0]
    remembered: list[Any] = [np.zeros((0, 12))] * 3
    for begin, end in cuts:
        states = paper.embed(model.embeddings, IDS[0, begin:end])
        for number, block in enumerate(model.decoder_stack.blocks):
            keys = np.concatenate([remembered[number], states])
            remembered[number] = keys[-4:]
            own, feed_forward = block.sub_layers
            mask = np.tri(end - begin, len(keys), len(keys) - (end - begin), dtype=bool)
            attended = _attended(paper, own.layer, states, keys, mask)
            states = paper.residual(own.residual, states, lambda _, it=attended: it)
            states = paper.residual(
                feed_forward.residual,
                states,
                lambda x, it=feed_forward.layer: paper.feed_forward(it, x),
            )
        np.testing.assert_allclose(found[begin:end], states, atol=1e-4)


def _attended(paper: Any, layer: Any, states: Any, keys: Any, mask: Any) -> Any:
    """Attention from the last of the keys' places, which are also queries of the whole."""
    behind = len(keys) - len(states)
    whole = np.concatenate([keys[:behind], states])
    full = np.tri(len(keys), len(keys), dtype=bool)
    full[behind:] = mask
    return paper.multi_head(layer, whole, keys, full)[0][behind:]


def test_a_model_without_memory_says_so(make) -> None:
    with pytest.raises(ValueError, match="without memory_length remembers nothing"):
        make(memory_length=None).empty_memory(2)


def test_a_memory_of_nothing_has_room(model: DecoderOnly) -> None:
    memory = Memory.empty(3, 2, 4, 12, "float32")
    assert memory.length == 4 and not memory.keep_mask.numpy().any()
    assert [one.shape for one in memory.states] == [(2, 4, 12)] * 3
