"""What holds for each precision of our own operators that rounds operands alone: layers are the
products, and a translation does not depend on the others in its batch."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.export import OnnxTranslator, export_onnx
from keras_transformer.export.onnx.layers.linear import Linear
from keras_transformer.export.onnx.quantize.bfloat16 import BFLOAT16, NativeBfloat16
from keras_transformer.export.onnx.quantize.native_float32 import NativeFloat32
from keras_transformer.text.tokenizer import Tokenizer

INPUTS, OUTPUTS = 41, 70
X = {"x": ("float32", ("rows", INPUTS))}
Y = {"y": ("float32", ("rows", OUTPUTS))}
PRECISIONS = [(NativeFloat32(), np.float32), (NativeBfloat16(), BFLOAT16)]


def draw(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(("kernels", "dtype"), PRECISIONS, ids=["float32", "bfloat16"])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("bias", "relu"), [(True, True), (False, False)])
def test_layers_are_products_of_operands_in_the_precision(
    build: Any,
    open_graph: Any,
    kernels: Any,
    dtype: Any,
    transposed: bool,
    bias: bool,
    relu: bool,
) -> None:
    kernel, biases, x = draw(0, INPUTS, OUTPUTS), draw(1, OUTPUTS), draw(2, 50, INPUTS)
    stored = kernel.T.copy() if transposed else kernel
    layer = Linear(stored, biases if bias else None, transposed=transposed, relu=relu)
    residual, given = ("", {}) if bias else ("r", {"r": Y["y"]})
    model = build(
        lambda graph: {"y": kernels.linear(graph, "x", layer, residual)}, {**X, **given}, Y
    )
    rounded_x, rounded_kernel = (one.astype(dtype).astype(np.float64) for one in (x, kernel))
    expected = rounded_x @ rounded_kernel + biases
    inputs = {"x": x} if bias else {"x": x, "r": np.tile(biases, (50, 1))}
    [found] = open_graph(model)(**inputs)
    expected = np.maximum(expected, 0) if relu else expected
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("quantize", [None, "bfloat16"])
def test_a_translation_is_the_same_in_any_batch_to_the_last_bit(
    make_model: Callable[..., Any],
    randomize: Callable[..., Any],
    tokenizer: Tokenizer,
    texts: list[str],
    tmp_path: Path,
    quantize: str | None,
) -> None:
    model = randomize(make_model(num_encoder_layers=2), seed=1)
    path = export_onnx(model, tokenizer, tmp_path / "a", target="native", quantize=quantize)
    translator = OnnxTranslator(path, threads=1)
    many = (texts * 12)[:40]
    for search in ({"max_length": 8}, {"beam_size": 3, "max_length": 8}):
        together = translator.translate_n_best(many, **search)
        alone = [translator.translate_n_best([text], **search)[0] for text in texts]
        for place, found in enumerate(together):
            expected = alone[place % len(texts)]
            assert [(one.ids, one.score) for one in found] == [
                (one.ids, one.score) for one in expected
            ]
