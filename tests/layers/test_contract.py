"""What every layer promises, whatever it computes: names, config, saving, dtypes, shapes."""

import dataclasses
import functools
import inspect
import json
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer import layers
from keras_transformer.config import (
    AttentionConfig,
    BlockOptions,
    FeedForwardConfig,
    NormConfig,
    RecurrenceConfig,
    StackConfig,
)
from keras_transformer.config.positions.disentangled import DisentangledConfig
from tools.covering import sampled, some

BLOCK = BlockOptions(
    model_dim=6,
    num_heads=2,
    key_dim=3,
    value_dim=5,
    feed_forward_dim=7,
    dropout=0.2,
    attention_dropout=0.3,
    activation_dropout=0.1,
    activation="gelu",
    norm="pre",
    layer_norm_epsilon=1e-4,
)
MODERN_BLOCK = dataclasses.replace(
    BLOCK,
    key_dim=4,
    norm_kind="rms_norm",
    gated_feed_forward=True,
    use_bias=False,
    scale_attention=False,
    num_key_value_heads=1,
    query_key_norm=True,
    rotary_base=100.0,
    rotary_width=2,
    rotary_scaling={
        "kind": "longrope",
        "original_length": 8,
        "short_factors": [1.5],
        "long_factors": [2.0],
        "magnitude": 1.2,
    },
)
RELATIVE_BLOCK = dataclasses.replace(BLOCK, relative_buckets=8, relative_max_distance=6)
RELATIVE_IN_BLOCKS = dataclasses.replace(RELATIVE_BLOCK, relative_per_block=True)
SINUSOIDS = dataclasses.replace(BLOCK, relative_sinusoids=True)
ATTENTION = AttentionConfig(num_heads=2, key_dim=4, value_dim=5, dropout=0.2)
GROUPED = dataclasses.replace(ATTENTION, num_key_value_heads=1, use_bias=False, scale=False)
IN_PATTERN = dataclasses.replace(
    BLOCK,
    key_dim=4,
    rotary_base=100.0,
    block_pattern=({"window": 2, "rotary_base": None}, {"feed_forward_dim": 5}),
)
SHARED = dataclasses.replace(
    IN_PATTERN,
    block_groups=2,
    blocks_per_group=2,
    relative_buckets=8,
    relative_max_distance=6,
    relative_per_block=True,
)
ADDITIVE = dataclasses.replace(ATTENTION, additive=True)
CAPPED = dataclasses.replace(ATTENTION, soft_cap=2.0)
DISENTANGLED = dataclasses.replace(
    ATTENTION, disentangled=DisentangledConfig(buckets=4, max_distance=6)
)
WITH_NORMS = dataclasses.replace(ATTENTION, query_key_norm=NormConfig(kind="rms_norm"))
FEED_FORWARD = FeedForwardConfig(hidden_dim=7, activation="gelu", dropout=0.2)
GATED = dataclasses.replace(FEED_FORWARD, gated=True, use_bias=False)
NORM = NormConfig(place="pre", epsilon=1e-4)
RMS_NORM = dataclasses.replace(NORM, kind="rms_norm")
SOURCE: dict[str, Any] = {"attends_source": True}
RECURRENT: dict[str, Any] = {**SOURCE, "recurrence": "ssru"}
EMBEDDINGS = {
    "vocab_size": 11,
    "model_dim": 6,
    "max_positions": 9,
    "dropout": 0.2,
    "add_positions": True,
    "position_offset": 0,
    "sinusoid_layout": "interleaved",
    "num_token_types": 0,
    "norm_epsilon": None,
    "scale": True,
    "projected_dim": None,
    "cutoffs": [],
    "div_value": 4,
    "characters": None,
}
# A second word tells apart the forms of a layer.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "TokenEmbedding": {"vocab_size": 11, "model_dim": 6, "scale": True},
    "AdaptiveEmbedding": {
        "vocab_size": 11,
        "model_dim": 6,
        "cutoffs": [3, 7],
        "div_value": 2,
        "scale": True,
    },
    "CharacterEmbedding": {
        "vocab_size": 11,
        "model_dim": 6,
        "character_dim": 3,
        "filters": 2,
        "largest_width": 2,
        "max_bytes": 5,
        "scale": True,
    },
    "SinusoidalPositions": {"model_dim": 6, "offset": 1, "layout": "halves"},
    "SinusoidalPositions of Marian": {"model_dim": 6, "offset": 0, "layout": "tensor2tensor"},
    "LearnedPositions": {"model_dim": 6, "max_positions": 9, "offset": 2},
    "MultiHeadAttention": {"config": ATTENTION},
    "MultiHeadAttention grouped": {"config": GROUPED},
    "MultiHeadAttention with norms": {"config": WITH_NORMS},
    "MultiHeadAttention capped": {"config": CAPPED},
    "MultiHeadAttention additive": {"config": ADDITIVE},
    "MultiHeadAttention disentangled": {"config": DISENTANGLED},
    "SSRU": {"config": RecurrenceConfig(use_bias=False)},
    "LSTM": {"config": RecurrenceConfig(kind="lstm")},
    "FeedForward": {"config": FEED_FORWARD},
    "FeedForward gated": {"config": GATED},
    "FeedForward squared": {"config": dataclasses.replace(GATED, activation="squared_relu")},
    "RMSNorm": {"epsilon": 1e-4},
    "Residual": {"config": NORM, "dropout": 0.2},
    "Residual rms": {"config": RMS_NORM, "dropout": 0.2},
    "Residual output": {"config": dataclasses.replace(NORM, place="output"), "dropout": 0.2},
    "Residual both": {"config": dataclasses.replace(NORM, place="both"), "dropout": 0.2},
    "Embeddings": EMBEDDINGS,
    "Embeddings of BERT": {
        **EMBEDDINGS,
        "position_offset": 2,
        "num_token_types": 2,
        "norm_epsilon": 1e-4,
        "scale": False,
    },
    "Embeddings of ALBERT": {
        **EMBEDDINGS,
        "model_dim": 4,
        "norm_epsilon": 1e-4,
        "projected_dim": 6,
    },
    "Embeddings without positions": {**EMBEDDINGS, "max_positions": None, "add_positions": False},
    "VocabularyHead": {"vocab_size": 6, "use_bias": False, "tied": False, "soft_cap": None},
    "VocabularyHead with biases": {
        "vocab_size": 6,
        "use_bias": True,
        "tied": False,
        "soft_cap": 0.5,
    },
    "AdaptiveSoftmax": {
        "vocab_size": 6,
        "cutoffs": [2, 4],
        "div_value": 2,
        "use_bias": True,
        "tied": False,
    },
    "ClassHead": {
        "num_classes": 6,
        "dropout": 0.2,
        "activation": "sigmoid",
        "transform": "gelu",
        "norm_kind": "rms_norm",
        "epsilon": 1e-5,
    },
    "ChainHead": {
        "num_classes": 6,
        "dropout": 0.2,
        "activation": "linear",
        "transform": None,
        "norm_kind": "layer_norm",
        "epsilon": 1e-12,
        "forbidden": [[0, 1], [6, 2]],
    },
    "VectorHead": {"dense": [{"out_dim": 6, "activation": "tanh", "use_bias": False}]},
    "MaskedTokenHead": {
        "vocab_size": 6,
        "activation": "gelu_tanh",
        "norm_kind": "rms_norm",
        "epsilon": 1e-4,
        "tied": False,
        "soft_cap": 0.5,
    },
    "EncoderBlock": {"config": BLOCK.block()},
    "DecoderBlock": {"config": BLOCK.block(**SOURCE)},
    "DecoderBlock alone": {"config": BLOCK.block()},
    "DecoderBlock recurrent": {"config": BLOCK.block(**RECURRENT)},
    "Encoder": {"config": BLOCK.stack_of(2)},
    "Encoder modern": {"config": MODERN_BLOCK.stack_of(2)},
    "Encoder relative": {"config": RELATIVE_BLOCK.stack_of(2)},
    "Encoder relative in blocks": {"config": RELATIVE_IN_BLOCKS.stack_of(2)},
    "Encoder of distances": {"config": SINUSOIDS.stack_of(2)},
    "Encoder of several blocks": {
        "config": StackConfig(
            blocks=(RELATIVE_IN_BLOCKS.block(), MODERN_BLOCK.block(), BLOCK.block()), num_layers=4
        )
    },
    "Encoder of shared blocks": {"config": SHARED.stack_of(8)},
    "Decoder of shared blocks": {"config": SHARED.stack_of(8, **SOURCE)},
    "Decoder of distances": {"config": SINUSOIDS.stack_of(2, **SOURCE)},
    "Decoder": {"config": BLOCK.stack_of(2, **SOURCE)},
    "Decoder modern": {"config": MODERN_BLOCK.stack_of(2, **SOURCE)},
    "Decoder of several blocks": {
        "config": StackConfig(
            blocks=(RELATIVE_BLOCK.block(**SOURCE), MODERN_BLOCK.block(**SOURCE)), num_layers=3
        )
    },
    "Decoder in a pattern": {"config": IN_PATTERN.stack_of(3, **SOURCE)},
    "Decoder alone": {"config": dataclasses.replace(MODERN_BLOCK, relative_buckets=8).stack_of(2)},
    "Decoder recurrent": {"config": BLOCK.stack_of(2, **RECURRENT)},
    "Decoder alone of LSTMs": {"config": BLOCK.stack_of(2, recurrence="lstm")},
}
# What each call takes: "ids" and "mask" are (batch, length), "states" (batch, length, 6).
CALLS: dict[str, dict[str, str]] = {
    "TokenEmbedding": {"inputs": "ids"},
    "AdaptiveEmbedding": {"inputs": "ids"},
    "CharacterEmbedding": {"inputs": "ids"},
    "SinusoidalPositions": {"keep_mask": "mask"},
    "LearnedPositions": {"keep_mask": "mask"},
    "MultiHeadAttention": {"query": "states", "key": "source"},
    "SSRU": {"inputs": "states", "keep_mask": "mask"},
    "LSTM": {"inputs": "states", "keep_mask": "mask"},
    "FeedForward": {"inputs": "states"},
    "RMSNorm": {"states": "states"},
    "Residual": {"states": "states", "outputs": "states"},
    "Embeddings": {"ids": "ids", "keep_mask": "mask"},
    "VocabularyHead": {"states": "states"},
    "AdaptiveSoftmax": {"states": "states"},
    "ClassHead": {"states": "states"},
    "ChainHead": {"states": "states"},
    "MaskedTokenHead": {"states": "states"},
    "VectorHead": {"vectors": "states"},
    "EncoderBlock": {"states": "states"},
    "DecoderBlock": {"states": "states", "encoder_states": "source"},
    "Encoder": {"states": "states", "keep_mask": "mask"},
    "DecoderBlock alone": {"states": "states"},
    "Decoder alone": {"states": "states", "keep_mask": "mask"},
    "Decoder alone of LSTMs": {"states": "states", "keep_mask": "mask"},
    "Decoder": {
        "states": "states",
        "encoder_states": "source",
        "keep_mask": "mask",
        "source_keep_mask": "source_mask",
    },
}
BATCH, LENGTH, SOURCE_LENGTH, WIDTH = 2, 4, 5, 6

HALVES = {"mixed_bfloat16": "bfloat16", "mixed_float16": "float16"}

every_layer = pytest.mark.parametrize("name", ARGUMENTS)
# Of the forms of a stack the one whose blocks differ and the recurrent one; blocks are their parts.
TYPICAL = [
    *(name for name in ARGUMENTS if not name.startswith(("Encoder", "Decoder"))),
    "Decoder in a pattern",
    "Decoder recurrent",
]
typical_layers = pytest.mark.parametrize("name", some(ARGUMENTS, *TYPICAL))


def make(name: str, /, **more: Any) -> keras.layers.Layer:
    return layer_class(name)(**ARGUMENTS[name], **more)


def plain(name: str) -> str:
    """The arguments of a layer as JSON."""
    return json.dumps(ARGUMENTS[name], default=dataclasses.asdict)


def layer_class(name: str) -> type[keras.layers.Layer]:
    return getattr(layers, name.split()[0])


def call_of(name: str) -> dict[str, str]:
    return CALLS.get(name, CALLS[name.split()[0]])


@functools.cache
def called(name: str) -> keras.layers.Layer:
    """A layer that has been called once, for tests that leave it as it is."""
    layer = make(name)
    layer(**inputs(name))
    return layer


def inputs(name: str, length: int = LENGTH, source_length: int = SOURCE_LENGTH) -> dict[str, Any]:
    generator = np.random.default_rng(length)
    kinds: dict[str, Callable[[], np.ndarray]] = {
        "ids": lambda: generator.integers(0, 11, (BATCH, length), np.int32),
        "mask": lambda: np.arange(length)[None] < np.array([[length], [length - 1]]),
        "source_mask": lambda: np.arange(source_length)[None] < np.array([[2], [source_length]]),
        "states": lambda: generator.standard_normal((BATCH, length, WIDTH), np.float32),
        "source": lambda: generator.standard_normal((BATCH, source_length, WIDTH), np.float32),
    }
    return {argument: kinds[kind]() for argument, kind in call_of(name).items()}


def symbolic(name: str) -> dict[str, keras.KerasTensor]:
    dtypes = {"ids": "int32", "mask": "bool", "source_mask": "bool"}
    return {
        argument: keras.Input(
            (None, WIDTH) if kind in ("states", "source") else (None,),
            dtype=dtypes.get(kind, "float32"),
            name=argument,
        )
        for argument, kind in call_of(name).items()
    }


@every_layer
def test_is_registered_under_our_package(name: str) -> None:
    registered = f"keras_transformer>{name.split()[0]}"
    assert keras.saving.get_registered_name(layer_class(name)) == registered
    assert keras.saving.get_registered_object(registered) is layer_class(name)


@every_layer
def test_config_holds_the_constructor_arguments(name: str) -> None:
    constructor = {
        argument.name
        for ancestor in layer_class(name).__mro__
        if ancestor.__module__.startswith("keras_transformer") and "__init__" in vars(ancestor)
        for argument in inspect.signature(ancestor.__init__).parameters.values()
        if argument.kind is not argument.VAR_KEYWORD and argument.name != "self"
    }
    if name == "MaskedTokenHead":
        constructor.remove("use_bias")  # It always has one.
    config = make(name).get_config()
    assert set(config) - {"name", "trainable", "dtype"} == constructor == set(ARGUMENTS[name])
    assert {key: config[key] for key in constructor} == json.loads(plain(name))


@typical_layers
def test_config_round_trip(name: str, randomize: Callable[..., Any]) -> None:
    layer = make(name, name="mine", dtype="mixed_bfloat16")
    config = json.loads(json.dumps(keras.saving.serialize_keras_object(layer)))
    twin = keras.saving.deserialize_keras_object(config)
    assert twin.get_config() == layer.get_config()
    given = inputs(name)
    layer(**given)
    twin(**given)
    randomize(layer)
    twin.set_weights(layer.get_weights())
    np.testing.assert_array_equal(twin(**given), layer(**given))


@typical_layers
def test_saved_inside_a_functional_model(name: str, tmp_path, randomize) -> None:
    arguments = symbolic(name)
    model = keras.Model(arguments, make(name)(**arguments))
    randomize(model)
    model.save(tmp_path / "model.keras")
    twin = keras.saving.load_model(tmp_path / "model.keras")
    given = inputs(name)
    np.testing.assert_array_equal(twin(given), model(given))


@pytest.mark.parametrize(
    ("name", "policy"),
    [
        *sampled([(name, policy) for name in TYPICAL for policy in HALVES]),
        *(
            pytest.param(name, policy, marks=pytest.mark.exhaustive)
            for name in ARGUMENTS
            if name not in TYPICAL
            for policy in HALVES
        ),
    ],
)
def test_computes_in_its_policy_and_stores_float32(name: str, policy: str) -> None:
    layer, compute_dtype = make(name, dtype=policy), HALVES[policy]
    outputs = layer(**inputs(name))
    assert keras.backend.standardize_dtype(outputs.dtype) == compute_dtype
    assert {weight.dtype for weight in layer.trainable_weights} <= {"float32"}
    assert {part.compute_dtype for part in layer._flatten_layers()} == {compute_dtype}


@typical_layers
def test_mixed_precision_stays_close_to_float32(name: str, randomize: Callable[..., Any]) -> None:
    given = inputs(name)
    layer, low = make(name), make(name, dtype="mixed_bfloat16")
    layer(**given)
    low(**given)
    randomize(layer, scale=0.2)
    low.set_weights(layer.get_weights())
    # bfloat16 keeps 8 bits: about 1% an operation, a few of them in a row.
    np.testing.assert_allclose(tf.cast(low(**given), "float32"), layer(**given), atol=0.15)


@typical_layers
def test_computed_shape_is_the_real_one(name: str) -> None:
    layer, given = called(name), inputs(name)
    outputs = layer(**given)
    first = next(iter(given.values()))
    assert tuple(layer.compute_output_shape(first.shape)) == tuple(outputs.shape)


@typical_layers
def test_symbolic_shape_and_dtype_are_the_real_ones(name: str) -> None:
    layer = make(name, dtype="mixed_bfloat16")
    outputs = layer(**symbolic(name))
    assert tuple(outputs.shape) == (None, None, WIDTH)
    assert outputs.dtype == "bfloat16"


@typical_layers
def test_lengths_may_change_from_call_to_call(name: str) -> None:
    layer = called(name)
    traces = []

    @tf.function(
        input_signature=[
            {
                argument: tf.TensorSpec((None, None, *value.shape[2:]), value.dtype, name=argument)
                for argument, value in inputs(name).items()
            }
        ]
    )
    def run(given: dict[str, tf.Tensor]) -> tf.Tensor:
        traces.append(1)
        return layer(**given)

    for length, source_length in ((1, 3), (4, 1), (7, 8)):
        given = inputs(name, length, source_length)
        tensors = {argument: tf.constant(value) for argument, value in given.items()}
        np.testing.assert_allclose(run(tensors), layer(**given), atol=1e-6)
    assert len(traces) == 1


@typical_layers
def test_every_weight_gets_a_finite_gradient(name: str) -> None:
    layer, given = called(name), inputs(name)
    with tf.GradientTape() as tape:
        if name.startswith("Residual"):
            # Pre-norm normalises on the way into the sub-layer, here the identity.
            given["outputs"] = layer.enter(given["states"])
        outputs = layer(**given)
        loss = tf.reduce_sum(outputs * np.random.default_rng(1).standard_normal(outputs.shape))
    # Of logits a chain makes tags: `test_linear_chain_crf.py` has its gradients.
    trained = [weight for weight in layer.trainable_weights if "/chain/" not in weight.path]
    weights = [weight.value for weight in trained]
    for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
        assert gradient is not None, weight.name
        assert np.isfinite(tf.convert_to_tensor(gradient)).all(), weight.name


@typical_layers
def test_dropout_acts_in_training_only(name: str) -> None:
    layer, given = called(name), inputs(name)
    still = np.array(layer(**given))
    np.testing.assert_array_equal(layer(**given), still)
    if "dropout" not in plain(name):
        return
    dropped = np.array(layer(**given, training=True))
    assert not np.allclose(dropped, still)
    assert not np.allclose(layer(**given, training=True), dropped)
