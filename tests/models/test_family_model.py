"""Quantized models of every family: they are saved and loaded with the same outputs."""

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from fresh_process import python

from keras_transformer.config import SpecialIds
from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.models.decoder_only import build_decoder
from keras_transformer.models.encoder_only import build_encoder
from tools.covering import some

PAIRS = [([2, 5, 9, 6, 3], [2, 7, 4, 11]), ([2, 17, 3], [2, 18]), ([8, 3], [2, 3, 5])]
# What a user's process does.
RELOAD = """
import sys
import keras
import numpy as np
import keras_transformer

for path in sys.argv[1:]:
    model = keras.models.load_model(path)
    with np.load(path + ".npz") as saved:
        given = {name: saved[name] for name in saved if name != "outputs"}
        outputs = keras.tree.flatten(model(given))
        found = np.concatenate([np.ravel(output) for output in outputs])
        np.testing.assert_array_equal(found, saved["outputs"])
"""
WEIGHTS_ALONE = keras.quantizers.Int8QuantizationConfig(
    keras.quantizers.AbsMaxQuantizer(axis=0), activation_quantizer=None
)


def flat(model: Any, inputs: dict[str, Any]) -> np.ndarray:
    return np.concatenate([np.ravel(output) for output in keras.tree.flatten(model(inputs))])


@pytest.mark.exhaustive
def test_a_quantized_model_is_loaded_in_another_process(
    few_families, randomize, tmp_path: Path
) -> None:
    """One of each family, the last of today's blocks."""
    paths = []
    for place, family in enumerate([*few_families[:2], few_families[-1]]):
        model, inputs = randomize(family.build()), family.inputs(PAIRS)
        before = flat(model, inputs)
        model.quantize("int8")
        outputs = flat(model, inputs)
        assert 0 < np.abs(outputs - before).max() < 0.2 * np.abs(before).max()
        paths.append(str(tmp_path / f"{place}.keras"))
        model.save(paths[-1])
        np.savez(paths[-1] + ".npz", outputs=outputs, **{n: np.array(v) for n, v in inputs.items()})
    python("-c", RELOAD, *paths)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"mode": "int4"}, id="int4"),
        pytest.param({"mode": "float8"}, marks=pytest.mark.exhaustive, id="float8"),
        pytest.param({"config": WEIGHTS_ALONE}, marks=pytest.mark.exhaustive, id="weights alone"),
    ],
)
def test_it_is_loaded_as_it_was_quantized(
    options: dict[str, Any], few_families, randomize, tmp_path: Path
) -> None:
    family = few_families[-1]
    model, inputs = randomize(family.build()), family.inputs(PAIRS)
    model.quantize(**options)
    model.save(tmp_path / "model.keras")
    same = keras.saving.load_model(tmp_path / "model.keras")
    modes = [
        {path: part["mode"] for path, part in one.get_config()["quantized"].items()}
        for one in (same, model)
    ]
    assert modes[0] == modes[1]
    np.testing.assert_array_equal(flat(same, inputs), flat(model, inputs))


@pytest.mark.exhaustive
def test_layers_that_a_filter_leaves_out_stay_floats(few_families, tmp_path: Path) -> None:
    model = few_families[0].build()
    model.quantize("int8", filters="query")
    model.save(tmp_path / "model.keras")
    for one in (model, keras.saving.load_model(tmp_path / "model.keras")):
        integers = [weight.path for weight in one.weights if weight.dtype == "int8"]
        assert integers and all(path.endswith("query/kernel") for path in integers)


@pytest.mark.exhaustive
def test_mixed_precision_stays_after_loading(few_families, tmp_path: Path) -> None:
    family = few_families[1]
    model = family.build("mixed_bfloat16")
    model.quantize("int8")
    model.save(tmp_path / "model.keras")
    same = keras.saving.load_model(tmp_path / "model.keras")
    assert same.dtype_policy.name == "mixed_bfloat16"
    inputs = family.inputs(PAIRS)
    np.testing.assert_array_equal(flat(same, inputs), flat(model, inputs))


SIZES: dict[str, Any] = {"vocab_size": 24, "model_dim": 8, "feed_forward_dim": 8, "num_heads": 2}
MASKED: dict[str, Any] = {"head": "masked_lm", "special_ids": SpecialIds(mask=4)}
OTHER_TOKENS = {
    "clusters": DecoderConfig(**SIZES, num_layers=1, cutoffs=(5, 9), div_value=2),
    "characters": DecoderConfig(**SIZES, num_layers=1, character_dim=4, tied_head=False),
    "two streams": EncoderConfig.preset("xlnet-tiny", **SIZES, **MASKED, query_stream=True),
}


@pytest.mark.parametrize("kind", some(OTHER_TOKENS, "clusters"))
def test_tokens_of_other_kinds_are_in_mixed_precision_as_they_were_saved(
    kind: str, randomize, tmp_path: Path
) -> None:
    config, ids = OTHER_TOKENS[kind], np.array([[2, 17, 4, 11, 3], [2, 7, 3, 0, 0]], np.int32)
    build = build_decoder if isinstance(config, DecoderConfig) else build_encoder
    live = randomize(build(config, "mixed_bfloat16"))
    inputs = {name: ids if name == "token_ids" else np.zeros_like(ids) for name in live.input}
    live.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.dtype_policy.name == "mixed_bfloat16"
    np.testing.assert_array_equal(loaded(inputs), live(inputs))


def test_what_was_compiled_before_is_compiled_again(few_families) -> None:
    family = few_families[2]
    model, inputs = family.build(), family.inputs(PAIRS)
    before = model.predict(inputs, verbose=0)
    states = model.prediction_states
    model.quantize("int8")
    after = model.predict(inputs, verbose=0)
    np.testing.assert_allclose(after, model(inputs), atol=1e-5)
    assert np.abs(after - before).max() > 0
    assert model.prediction_states is not states
    assert isinstance(after, np.ndarray) and tf.is_tensor(model(inputs))


def trained(model: keras.Model) -> list[str]:
    return [weight.path for weight in model.trainable_weights]


def test_frozen_parts_stay_frozen_and_the_optimizer_goes_on(few_families, tmp_path: Path) -> None:
    family = few_families[0]
    model, inputs = family.build(), family.inputs(PAIRS)
    model.encoder_stack.trainable = model.source_embeddings.trainable = False
    model.encoder_stack.blocks[-1].trainable = True
    model.compile(keras.optimizers.Adam(0.01), "mse", run_eagerly=True)
    labels = np.zeros(model(inputs).shape)
    model.fit(inputs, labels, verbose=0)
    model.save(tmp_path / "model.keras")
    same = keras.saving.load_model(tmp_path / "model.keras")
    assert trained(same) == trained(model) and len(trained(model)) < len(model.weights)
    assert int(same.optimizer.iterations) == 1
    frozen = [np.array(weight) for weight in same.encoder_stack.blocks[0].weights]
    same.fit(inputs, labels, verbose=0)
    for before, after in zip(frozen, same.encoder_stack.blocks[0].weights, strict=True):
        np.testing.assert_array_equal(after, before)


def test_a_frozen_encoder_inside_a_larger_model_stays_frozen(few_families, tmp_path: Path) -> None:
    encoder = few_families[1].build().encoder
    encoder.trainable = False
    inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in encoder.input}
    larger = keras.Model(inputs, keras.layers.Dense(1, name="mine")(encoder(inputs)))
    larger.save(tmp_path / "larger.keras")
    same = keras.saving.load_model(tmp_path / "larger.keras")
    assert trained(same) == trained(larger) == ["mine/kernel", "mine/bias"]


def test_a_frozen_part_that_the_model_has_not_is_named(few_families) -> None:
    model = few_families[1].build()
    config = {**model.get_config(), "frozen": ["encoder/block_7"]}
    with pytest.raises(ValueError, match="'encoder/block_7' is to be frozen, but .* has only"):
        type(model).from_config(config)


@pytest.mark.parametrize("place", [pytest.param(0, marks=pytest.mark.exhaustive), 2])
def test_a_clone_that_would_untie_the_head_is_refused(place: int, few_families) -> None:
    model = few_families[place].build()
    with pytest.raises(ValueError, match=r"'head' is tied .*type\(model\).from_config"):
        keras.models.clone_model(model)
    copy = type(model).from_config(model.get_config())
    assert copy.count_params() == model.count_params()
