"""Low-rank adaptation of models: what is trained and what stays, and what is merged."""

import dataclasses
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from keras_transformer.config import TransformerConfig
from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.families import ModelConfig
from keras_transformer.models.families import build_model
from keras_transformer.models.lora.adaptation import adapt_low_rank, without_low_rank
from tools.covering import some

SMALL = {"model_dim": 8, "feed_forward_dim": 16, "num_heads": 2}
ENCODER = EncoderConfig.preset(
    "bert-tiny", vocab_size=20, head="classification", labels=("a", "b"), **SMALL
)
SHARED = dataclasses.replace(ENCODER, block_groups=1)
DECODER = DecoderConfig.preset("llama-tiny", vocab_size=20, num_key_value_heads=1, **SMALL)
TRANSLATION = TransformerConfig.preset(
    "tiny",
    vocab_size=20,
    target_vocab_size=20,
    **{**SMALL, "num_encoder_layers": 1, "num_decoder_layers": 1},
)
BASES = [
    TransformerConfig.preset("base", vocab_size=8000),
    EncoderConfig.preset("bert-base", vocab_size=8000),
    DecoderConfig.preset("gpt2", vocab_size=8000),
]


def weights(model: Any) -> dict[str, np.ndarray]:
    return {weight.path: np.array(weight) for weight in model.weights}


def inputs(model: Any) -> dict[str, np.ndarray]:
    ids = np.random.default_rng(0).integers(5, 20, (4, 6), np.int32)
    return {
        tensor.name: ids if tensor.name != "token_type_ids" else ids * 0 for tensor in model.inputs
    }


def adapted(
    config: ModelConfig, fresh: tuple[str, ...] = (), policy: str | None = None, **options: Any
) -> Any:
    """Returns an adapted model whose factors are not 0."""
    keras.utils.set_random_seed(0)
    model = build_model(config, policy)
    model.enable_lora(2, fresh=fresh, **options)
    for weight in model.weights:
        if weight.name == "lora_kernel_b":
            weight.assign(keras.random.normal(weight.shape))
    return model


@pytest.mark.parametrize("config", some([ENCODER, SHARED, DECODER, TRANSLATION], SHARED, DECODER))
def test_the_merged_model_is_a_plain_one_with_the_same_logits(config: ModelConfig) -> None:
    model, plain = adapted(config), build_model(config)
    before = np.asarray(model(inputs(model)))
    assert np.abs(before - np.asarray(plain(inputs(plain)))).max() > 0.01
    merged = without_low_rank(model)
    assert list(weights(merged)) == list(weights(plain))
    np.testing.assert_allclose(merged(inputs(merged)), before, atol=1e-5)
    np.testing.assert_allclose(model(inputs(model)), before, atol=1e-5)


@pytest.mark.parametrize("config", [ENCODER, TRANSLATION])
def test_merging_leaves_the_adapted_model_as_it_is(config: ModelConfig) -> None:
    model = adapted(config)
    before = weights(model)
    model.merge_lora()
    found = weights(model)
    assert list(found) == list(before)
    for path, value in before.items():
        np.testing.assert_array_equal(found[path], value, err_msg=path)


def test_merged_weights_are_not_rounded_to_the_compute_dtype() -> None:
    model = adapted(ENCODER, policy="mixed_bfloat16")
    before, path = weights(model), "encoder/block_1/feed_forward/hidden"
    merged = without_low_rank(model)
    product = before[f"{path}/lora_kernel_a"] @ before[f"{path}/lora_kernel_b"]
    found = weights(merged)[f"{path}/kernel"]
    np.testing.assert_allclose(found, before[f"{path}/kernel"] + product, rtol=1e-6)
    assert merged.dtype_policy.name == "mixed_bfloat16"


def test_each_linear_map_of_attention_and_feed_forward_is_adapted(capsys) -> None:
    model = build_model(DECODER)
    total = model.count_params()
    adapt_low_rank(model, 2)
    trained = model.trainable_weights
    linear = ("query", "key", "value", "output", "hidden", "gate", "output_linear")
    assert {weight.path.split("/")[-2] for weight in trained} == set(linear)
    assert {weight.name for weight in trained} == {"lora_kernel_a", "lora_kernel_b"}
    sides = [8 + 8, 8 + 4, 8 + 4, 8 + 8, 8 + 16, 8 + 16, 16 + 8]
    count = 2 * sum(sides) * DECODER.num_layers
    assert f"{count:,} parameters are trained; the model has {total:,}" in capsys.readouterr().out


def test_what_is_new_is_trained_itself() -> None:
    fresh = ("head/linear/kernel", "encoder/block_0/attention/query/kernel")
    model = adapted(ENCODER, fresh)
    trained = {weight.path for weight in model.trainable_weights}
    assert set(fresh) < trained and "head/linear/bias" not in trained
    assert "encoder/block_0/attention/query/lora_kernel_a" not in trained
    assert "encoder/block_0/attention/key/lora_kernel_a" in trained


def test_a_rank_that_is_not_low_is_refused() -> None:
    model = build_model(ENCODER)
    with pytest.raises(ValueError, match=r"lora_rank=9 is no low rank for .* 8 x 8: .* at most 8"):
        adapt_low_rank(model, 9)
    assert len(model.trainable_weights) == len(model.weights)


@pytest.mark.parametrize("config", some(BASES, BASES[0]), ids=lambda config: type(config).__name__)
def test_rank_8_trains_at_most_5_percent_of_a_base_model(config: ModelConfig) -> None:
    model = build_model(config)
    total = model.count_params()
    model.enable_lora(8)
    trained = sum(int(np.prod(weight.shape)) for weight in model.trainable_weights)
    assert 0 < trained <= 0.05 * total


@pytest.mark.parametrize("config", some([ENCODER, DECODER, TRANSLATION], TRANSLATION))
def test_a_product_is_scaled_by_alpha_over_rank(config: ModelConfig) -> None:
    model, plain = adapted(config, lora_alpha=6), build_model(config)
    factors = weights(model)
    for weight in plain.weights:
        layer = weight.path.rpartition("/")[0]
        value = factors[weight.path]
        if f"{layer}/lora_kernel_a" in factors and weight.name == "kernel":
            product = factors[f"{layer}/lora_kernel_a"] @ factors[f"{layer}/lora_kernel_b"]
            value = value + 3 * product
        weight.assign(value)
    np.testing.assert_allclose(model(inputs(model)), plain(inputs(plain)), atol=1e-5)


def test_named_layers_alone_are_adapted() -> None:
    path = "decoder/block_0/feed_forward/hidden"
    model = adapted(DECODER, target_layer_names=["query", "value", path])
    layers = {weight.path.rpartition("/")[0] for weight in model.trainable_weights}
    blocks = [f"decoder/block_{number}/self_attention" for number in range(DECODER.num_layers)]
    assert layers == {path, *(f"{block}/{name}" for block in blocks for name in ("query", "value"))}


def test_predictions_and_parts_are_those_of_trained_factors() -> None:
    model = build_model(ENCODER)
    before = model.predict(inputs(model), verbose=0)
    states = model.encoder.predict(inputs(model), verbose=0)
    model.enable_lora(2)
    np.testing.assert_array_equal(model.predict(inputs(model), verbose=0), before)
    for weight in model.weights:
        if weight.name == "lora_kernel_b":
            weight.assign(keras.random.normal(weight.shape))
    assert np.abs(model.predict(inputs(model), verbose=0) - before).max() > 0.001
    assert np.abs(model.encoder.predict(inputs(model), verbose=0) - states).max() > 0.01


def test_fit_trains_the_factors_alone() -> None:
    model = build_model(ENCODER)
    model.enable_lora(2)
    before = weights(model)
    model.compile(keras.optimizers.Adam(0.01), keras.losses.SparseCategoricalCrossentropy(True))
    model.fit(inputs(model), np.array([0, 1, 0, 1]), epochs=2, verbose=0)
    moved = {path for path, value in weights(model).items() if np.any(value != before[path])}
    assert moved == {path for path in before if "lora_kernel" in path}


def test_a_saved_model_has_the_products_added(tmp_path: Any) -> None:
    model = adapted(DECODER)
    model.save(tmp_path / "adapted.keras")
    same = keras.saving.load_model(tmp_path / "adapted.keras")
    assert not any("lora" in path for path in weights(same))
    np.testing.assert_allclose(same(inputs(same)), model(inputs(model)), atol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rank": 0}, "the rank of LoRA must be at least 1, got 0"),
        ({"rank": 9}, "lora_rank=9 is no low rank for .* give at most 8"),
        ({"target_layer_names": ["quarry"]}, "target_layer_names names 'quarry', .* only query"),
        ({"target_layer_names": []}, r"target_layer_names=\[\] leaves no linear layer to adapt"),
        ({"target_layer_names": "query"}, "must be a list of names, got 'query'"),
        ({"fresh": ["head"]}, "fresh names 'head', but the model has only"),
        ({"rank": 2.5}, "the rank of LoRA must be an integer, got 2.5"),
        ({"rank": True}, "the rank of LoRA must be an integer, got True"),
        ({"lora_alpha": "a"}, "lora_alpha must be a number, or None for the rank, got 'a'"),
        ({"lora_alpha": float("nan")}, "lora_alpha must be positive and finite, got nan"),
        ({"lora_alpha": 0}, "lora_alpha must be positive and finite, got 0"),
    ],
)
def test_wrong_options_change_nothing(options: dict[str, Any], message: str) -> None:
    model = build_model(ENCODER)
    with pytest.raises((TypeError, ValueError), match=message):
        model.enable_lora(**{"rank": 2, **options})
    assert len(model.trainable_weights) == len(model.weights)


def test_a_model_is_adapted_once() -> None:
    model = adapted(ENCODER)
    with pytest.raises(ValueError, match="the model has LoRA of rank 2 already"):
        model.enable_lora(4)
    merged = model.merge_lora()
    merged.enable_lora(4)
    np.testing.assert_allclose(merged(inputs(merged)), model(inputs(model)), atol=1e-5)


def test_what_is_quantized_is_refused_before_it_is_trained() -> None:
    model = build_model(ENCODER)
    model.quantize("int8")
    before = len(model.weights)
    with pytest.raises(ValueError, match="is quantized to int8, and what LoRA trains beside it"):
        model.enable_lora(2)
    assert len(model.weights) == before
    with pytest.raises(ValueError, match="has LoRA, which would be rounded away"):
        adapted(ENCODER).quantize("int8")


@pytest.mark.parametrize("save", some(["save", "save_weights"], "save"))
def test_a_quantized_model_with_lora_is_not_saved_as_another(tmp_path: Path, save: str) -> None:
    model = build_model(ENCODER)
    adapted(ENCODER).save_lora_weights(tmp_path / "a.lora.npz")
    model.quantize("int8")
    model.load_lora_weights(tmp_path / "a.lora.npz")
    name = "model.keras" if save == "save" else "model.weights.h5"
    with pytest.raises(ValueError, match="is quantized to int8 and has LoRA"):
        getattr(model, save)(tmp_path / name)
    assert not (tmp_path / name).exists()


def test_nothing_is_merged_into_integers() -> None:
    model = build_model(ENCODER)
    model.quantize("int8")
    adapt_low_rank(model, 2)
    with pytest.raises(ValueError, match="is quantized to int8, so nothing can be added"):
        model.merge_lora()
