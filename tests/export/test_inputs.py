"""What no export can hold is refused by all of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from keras_transformer.export import export_onnx, export_pretrained, export_saved_model
from keras_transformer.export.inputs import in_float32
from keras_transformer.models.decoder_only import build_decoder
from keras_transformer.text.tokenizer import Tokenizer


def test_a_quantized_model_is_refused_before_anything_is_written(
    small_decoder: Callable[..., Any], masked_tokenizer: Tokenizer, tmp_path: Path
) -> None:
    model = build_decoder(small_decoder().config)
    model.quantize("int8")
    directory = tmp_path / "out"
    exports: list[Callable[[], Any]] = [
        lambda: export_onnx(model, masked_tokenizer, directory),
        lambda: export_saved_model(model, directory, tokenizer=masked_tokenizer),
        lambda: export_pretrained(
            model, directory, format="ctranslate2", tokenizer=masked_tokenizer
        ),
    ]
    for export in exports:
        with pytest.raises(ValueError, match="the model was quantized with Keras"):
            export()
    assert not directory.exists()


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "float16"])
def test_the_float32_copy_of_an_adapted_model_has_the_products_added(
    small_decoder: Callable[..., Any], policy: str
) -> None:
    model = build_decoder(small_decoder().config, policy)
    model.enable_lora(2)
    for weight in model.weights:
        if weight.name == "lora_kernel_b":
            weight.assign(keras.random.normal(weight.shape))
    ids = {"token_ids": np.array([[5, 6, 7, 8]], np.int32)}
    expected = np.asarray(model(ids), np.float32)
    twin = in_float32(model)
    assert {layer.compute_dtype for layer in twin.layers} == {"float32"}
    np.testing.assert_allclose(twin(ids), expected, rtol=0.05, atol=0.05)
