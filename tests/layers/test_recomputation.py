"""A layer called with recomputation against the same layer called plainly."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from fresh_process import python

from keras_transformer.config import BlockOptions, TransformerConfig
from keras_transformer.layers import EncoderBlock
from keras_transformer.layers.recomputation import recomputed
from keras_transformer.models import build_transformer

KEEP = tf.constant([[[[True] * 5]], [[[True, True, True, False, False]]]])


def two_updates(recompute: bool, jit_compile: bool) -> tuple[list[np.ndarray], ...]:
    """Losses' gradients of two calls in a row, and the state that is left."""
    keras.utils.set_random_seed(3)
    options = BlockOptions(model_dim=16, num_heads=2, feed_forward_dim=32, dropout=0.3)
    block = EncoderBlock(options.block())
    states = tf.constant(np.random.default_rng(0).normal(size=(2, 5, 16)), tf.float32)
    block.build(states.shape)
    variables = [variable.value for variable in block.trainable_variables]

    def call(states: tf.Tensor) -> tf.Tensor:
        if recompute:
            return recomputed(block, {"states": states}, {"keep_mask": KEEP}, True)
        return block(states, KEEP, training=True)

    @tf.function(jit_compile=jit_compile)
    def gradients() -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(states)
            # Twice: the second call's seeds must be the ones after the first's.
            loss = tf.reduce_sum(call(call(states)) ** 2)
        return tape.gradient(loss, [states, *variables])

    first, second = gradients(), gradients()
    state = [variable.numpy() for variable in block.non_trainable_variables]
    return [np.asarray(x) for x in first], [np.asarray(x) for x in second], state


@pytest.mark.parametrize("jit_compile", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
def test_gradients_and_dropout_are_those_of_the_plain_call(jit_compile: bool) -> None:
    ours, plain = two_updates(True, jit_compile), two_updates(False, jit_compile)
    for mine, theirs in zip(ours[0] + ours[1], plain[0] + plain[1], strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-4)
    for mine, theirs in zip(ours[2], plain[2], strict=True):
        np.testing.assert_array_equal(mine, theirs)
    # Two calls draw different dropout.
    assert not np.allclose(ours[0][0], ours[1][0])


# Prints by how many MB the process grows in a step that recomputes, and then in a plain one.
_GROWTH = """
from pathlib import Path
import tensorflow as tf
from keras_transformer.config import TransformerConfig
from keras_transformer.models import build_transformer

config = TransformerConfig.preset(
    "small", vocab_size=50, model_dim=64, feed_forward_dim=256,
    num_encoder_layers=4, num_decoder_layers=4,
)
model = build_transformer(config)
ids = tf.random.uniform((32, 128), 4, 50, tf.int32, seed=1)

def peak_kilobytes():
    # Not getrusage's figure, which a process takes over from the one that started it.
    [line] = [l for l in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in l]
    return int(line.split()[1])

for recompute in (True, False):
    model.recompute_activations(recompute)
    states = model.prediction_states

    @tf.function(input_signature=[tf.TensorSpec((None, 128), tf.int32)], autograph=False)
    def gradients(ids):
        with tf.GradientTape() as tape:
            outputs = states({"source_ids": ids, "target_ids": ids}, training=True)
            loss = tf.reduce_sum(outputs ** 2)
        return tape.gradient(loss, states.trainable_variables)

    gradients(ids[:1])  # A machine's own work space is made but once.
    before = peak_kilobytes()
    gradients(ids)
    print((peak_kilobytes() - before) // 1024)
"""


@pytest.mark.exhaustive  # Gradients of both are compared below.
def test_a_recomputing_transformer_takes_less_memory() -> None:
    printed = python("-c", _GROWTH)
    recomputing, more_without = map(int, printed.stdout.split())
    # The peak of the second step stands on that of the first: nothing, if nothing is saved.
    assert recomputing < 0.5 * (recomputing + more_without)


@pytest.mark.exhaustive
def test_it_changes_neither_evaluation_nor_the_saved_model(tmp_path) -> None:
    model = build_transformer(TransformerConfig.preset("tiny", vocab_size=50, model_dim=32))
    ids = np.array([[5, 6, 3]])
    before = model.predict({"source_ids": ids, "target_ids": ids}, verbose=0)
    model.recompute_activations()
    np.testing.assert_array_equal(
        before, model.predict({"source_ids": ids, "target_ids": ids}, verbose=0)
    )
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(
        before, loaded.predict({"source_ids": ids, "target_ids": ids}, verbose=0)
    )
    assert not any(stack.recompute for stack in (loaded.encoder_stack, loaded.decoder_stack))
