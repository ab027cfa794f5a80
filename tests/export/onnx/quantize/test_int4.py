"""4-bit weights: onnxruntime's operators and ours agree on the same weights, which are stored once,
and a row does not depend on the others in its batch."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from keras_transformer.export import Manifest, export_onnx
from keras_transformer.export.onnx.graphs.builder import GraphBuilder
from keras_transformer.export.onnx.graphs.native import Native
from keras_transformer.export.onnx.layers.linear import Linear
from keras_transformer.export.onnx.quantize.int4 import Int4, Int4Matrices
from keras_transformer.export.onnx.quantize.native_int4 import NativeInt4, SharedInt4
from keras_transformer.export.onnx.settings import Int4Form
from keras_transformer.text.tokenizer import Tokenizer

INPUTS, OUTPUTS = 200, 70
X = {"x": ("float32", ("rows", INPUTS))}
Y = {"y": ("float32", ("rows", OUTPUTS))}
IDS = {"ids": ("int32", ("batch", "length"))}
FORMS = [Int4Form(size, zeros) for size in (32, 128) for zeros in (False, True)]
KINDS = (Int4, SharedInt4, NativeInt4)


def draw(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.fixture
def product(build: Any, open_graph: Any) -> Callable[..., np.ndarray]:
    """`product(kernels, layer, x)`."""

    def compute(kernels: Any, layer: Linear, x: np.ndarray) -> np.ndarray:
        model = build(lambda graph: {"y": kernels.linear(graph, "x", layer)}, X, Y)
        [found] = open_graph(model)(x=x)
        return np.asarray(found)

    return compute


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("transposed", [False, True])
def test_products_are_those_of_the_weights_that_4_bits_hold(
    product: Any, form: Int4Form, transposed: bool
) -> None:
    lines, bias, x = draw(0, OUTPUTS, INPUTS), draw(1, OUTPUTS), draw(2, 9, INPUTS)
    layer = Linear(lines if transposed else lines.T.copy(), bias, transposed=transposed, relu=True)
    exact = x @ Int4Matrices(form).blocks(lines).lines(INPUTS).T + bias
    for kind in KINDS:
        found = product(kind(Int4Matrices(form)), layer, x)
        # Inputs are rounded to bytes.
        np.testing.assert_allclose(found, np.maximum(exact, 0), atol=0.05 * exact.std())
        alone = product(kind(Int4Matrices(form)), layer, x[4:5])
        # onnxruntime sums one row in another order than several.
        error = 0 if kind is NativeInt4 else 1e-5 * exact.std()
        np.testing.assert_allclose(alone, found[4:5], rtol=0, atol=error)


@pytest.mark.parametrize("form", FORMS)
def test_onnxruntime_reads_our_operators_weights(build: Any, form: Int4Form) -> None:
    layer = Linear(draw(0, OUTPUTS, INPUTS), transposed=True)
    kinds = [kind(Int4Matrices(form)) for kind in (SharedInt4, NativeInt4)]
    graphs = [build(lambda graph, k=k: {"y": k.linear(graph, "x", layer)}, X, Y) for k in kinds]
    weights = [max(g.graph.initializer, key=lambda one: len(one.raw_data)) for g in graphs]
    assert weights[0].raw_data == weights[1].raw_data


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMS[::3])
def test_a_vocabulary_is_stored_once_for_lookups_and_logits(
    build: Any, open_graph: Any, kind: Any, form: Int4Form
) -> None:
    matrix, x, kernels = draw(0, OUTPUTS, INPUTS), draw(1, 5, INPUTS), kind(Int4Matrices(form))
    ids = np.array([[0, OUTPUTS - 1, 16], [15, 3, 3]], np.int32)

    def emit(graph: GraphBuilder) -> dict[str, str]:
        found = kernels.embedding(graph, matrix, "ids")
        return {"found": found, "y": Native(kernels).logits(graph, "x", matrix)}

    model = build(emit, {**X, **IDS}, {**Y, "found": ("float32", ("batch", "length", INPUTS))})
    sizes = [len(one.raw_data) for one in model.graph.initializer]
    assert sum(sizes) < 0.62 * matrix.size * (1 + 56 / INPUTS) * (1 + 10 / OUTPUTS)
    logits, found = open_graph(model)(x=x, ids=ids)
    held = kernels.matrices.blocks(matrix).lines(INPUTS)
    np.testing.assert_array_equal(found, held[ids])
    np.testing.assert_allclose(logits, x @ held.T, atol=0.05 * logits.std())


@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_of_few_outputs_stays_float32(build: Any, kind: Any) -> None:
    layer, kernels = Linear(draw(0, INPUTS, 3), draw(1, 3)), kind(Int4Matrices(Int4Form()))
    outputs = {"y": ("float32", ("rows", 3))}
    model = build(lambda graph: {"y": kernels.linear(graph, "x", layer)}, X, outputs)
    assert {one.data_type for one in model.graph.initializer} == {onnx.TensorProto.FLOAT}


def test_a_value_that_is_not_finite_is_refused() -> None:
    matrix = draw(0, OUTPUTS, INPUTS)
    matrix[3, 4] = np.nan
    with pytest.raises(ValueError, match="70 × 200 holds a value that is not finite.*int4"):
        Int4Matrices(Int4Form()).blocks(matrix)


def test_an_artefact_names_its_precision_and_holds_weights_once(
    make_model: Callable[..., Any],
    randomize: Callable[..., Any],
    tokenizer: Tokenizer,
    tmp_path: Path,
) -> None:
    model = randomize(make_model(num_encoder_layers=2), seed=1)
    both, ours = (
        export_onnx(model, tokenizer, tmp_path / target, target=target, quantize="int4")
        for target in ("fastest", "native")
    )
    assert Manifest.read(both).precision == "int4"
    sizes = [(path / "weights.bin").stat().st_size for path in (both, ours)]
    assert sizes[0] < 1.1 * sizes[1]
