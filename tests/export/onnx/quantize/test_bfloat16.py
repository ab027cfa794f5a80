"""Weights in bfloat16: layers are the products of rounded operands, a vocabulary is stored once,
and a translation does not depend on the others in its batch."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from keras_transformer.export import Manifest, export_onnx
from keras_transformer.export.onnx.graphs.builder import GraphBuilder
from keras_transformer.export.onnx.graphs.native import Native
from keras_transformer.export.onnx.quantize.bfloat16 import BFLOAT16, NativeBfloat16
from keras_transformer.text.tokenizer import Tokenizer

INPUTS, OUTPUTS = 41, 70
X = {"x": ("float32", ("rows", INPUTS))}
Y = {"y": ("float32", ("rows", OUTPUTS))}


def draw(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def rounded(values: np.ndarray) -> np.ndarray:
    return values.astype(BFLOAT16).astype(np.float64)


def test_a_vocabulary_is_stored_once_for_lookups_and_logits(build: Any, open_graph: Any) -> None:
    matrix, x = draw(0, OUTPUTS, INPUTS), draw(1, 5, INPUTS)
    kernels = NativeBfloat16()
    native = Native(kernels)
    ids = np.array([[0, OUTPUTS - 1, 16], [15, 3, 3]], np.int32)

    def emit(graph: GraphBuilder) -> dict[str, str]:
        found = kernels.embedding(graph, matrix, "ids")
        return {"found": found, "y": native.logits(graph, "x", matrix)}

    given = {**X, "ids": ("int32", ("batch", "length"))}
    model = build(emit, given, {**Y, "found": ("float32", ("batch", "length", INPUTS))})
    kinds = [tensor.data_type for tensor in model.graph.initializer]
    assert kinds.count(onnx.TensorProto.BFLOAT16) == 1
    logits, found = open_graph(model)(x=x, ids=ids)
    np.testing.assert_array_equal(found, rounded(matrix)[ids])
    np.testing.assert_allclose(logits, rounded(x) @ rounded(matrix).T, rtol=1e-5, atol=1e-4)


def test_an_artefact_names_its_precision_and_refuses_what_has_no_operator(
    make_model: Callable[..., Any],
    randomize: Callable[..., Any],
    tokenizer: Tokenizer,
    tmp_path: Path,
) -> None:
    model = randomize(make_model(num_encoder_layers=2), seed=1)
    path = export_onnx(model, tokenizer, tmp_path / "a", target="native", quantize="bfloat16")
    manifest = Manifest.read(path)
    assert manifest.precision == "bfloat16"
    # More than float32's rounding, less than a plain error's.
    assert 1e-4 < manifest.max_difference < 0.3
    with pytest.raises(ValueError, match=r"key_dim \(8\) differs from value_dim \(5\).*'bfloat16'"):
        other = make_model(key_dim=8, value_dim=5)
        export_onnx(other, tokenizer, tmp_path / "b", target="native", quantize="bfloat16")
