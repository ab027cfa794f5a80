"""int8 graphs on a network that holds every kind of linear layer: which kernel each gets, how near
the numbers stay, and that a row's result never depends on the rows beside it.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto
from onnx.numpy_helper import to_array

from keras_transformer.export.onnx.graphs.builder import GraphBuilder
from keras_transformer.export.onnx.layers.linear import Linear
from keras_transformer.export.onnx.quantize.int8 import Int8, NativeInt8
from keras_transformer.export.onnx.quantize.kernels import Float32, Kernels

_WORDS, _WIDTH, _HIDDEN = 1100, 120, 1200
_BATCH = 70
_KERNELS = ["MatMulIntegerToFloat", "DynamicQuantizeMatMul", "Gemm"]
_X = {"x": ("float32", ("rows", "inputs"))}
_Y = {"y": ("float32", ("rows", "outputs"))}

Make = Callable[..., onnx.ModelProto]


def _random(*shape: int, seed: int = 0) -> np.ndarray:
    values = np.random.default_rng([seed, *shape]).standard_normal(shape)
    return (values / np.sqrt(shape[0])).astype(np.float32)


@pytest.fixture(scope="module")
def network(build: Any) -> Callable[[Kernels], onnx.ModelProto]:
    """`network(kernels)`: ids → embedding → small and large layers, with bias, residual and ReLU →
    tied head.
    """
    table = _random(_WORDS, _WIDTH) * np.float32(30)
    small = Linear(_random(_WIDTH, _WIDTH), _random(_WIDTH), relu=True)
    back = Linear(_random(_WIDTH, _WIDTH, seed=1), transposed=True, nonnegative=True)
    large = Linear(_random(_WIDTH, _HIDDEN), _random(_HIDDEN), relu=True)
    large_back = Linear(_random(_HIDDEN, _WIDTH), nonnegative=True)
    other = Linear(_random(_WIDTH, _WIDTH, seed=2), _random(_WIDTH))
    norm = 1 + _random(_WIDTH), _random(_WIDTH, seed=1)

    def make(kernels: Kernels) -> onnx.ModelProto:
        def emit(graph: GraphBuilder) -> dict[str, str]:
            embedded = kernels.embedding(graph, table, "ids")
            hidden = kernels.linear(graph, embedded, small)
            joined = kernels.linear(graph, hidden, back, embedded)
            normed = graph.op("LayerNormalization", joined, *norm, axis=-1)
            hidden = kernels.linear(graph, normed, large)
            states = kernels.linear(graph, hidden, large_back, normed)
            states = kernels.linear(graph, states, other)
            return {"logits": kernels.linear(graph, states, Linear(table, transposed=True))}

        inputs = {"ids": ("int32", ("rows",))}
        return build(emit, inputs, {"logits": ("float32", ("rows", _WORDS))})

    return make


@pytest.fixture(scope="module")
def one_layer(build: Any) -> Make:
    """`one_layer(kernels, layer, before="Identity")`: x → the operator → the layer → y."""

    def make(kernels: Kernels, layer: Linear, before: str = "Identity") -> onnx.ModelProto:
        def emit(graph: GraphBuilder) -> dict[str, str]:
            return {"y": kernels.linear(graph, graph.op(before, "x"), layer)}

        return build(emit, _X, _Y)

    return make


def _error(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


def _operators(model: onnx.ModelProto) -> dict[str, int]:
    counted = Counter(node.op_type for node in model.graph.node)
    return {name: counted[name] for name in _KERNELS if counted[name]}


@pytest.mark.parametrize(
    ("batch_dependent", "operators"),
    [
        (False, {"MatMulIntegerToFloat": 3, "Gemm": 3}),
        (True, {"DynamicQuantizeMatMul": 6}),
    ],
)
def test_every_linear_layer_gets_its_kernel(
    network: Make, batch_dependent: bool, operators: dict[str, int]
) -> None:
    assert _operators(network(Int8(batch_dependent=batch_dependent))) == operators


@pytest.mark.parametrize("batch_dependent", [False, True])
def test_no_matrix_is_left_in_float32(network: Make, batch_dependent: bool) -> None:
    quantized, exact = network(Int8(batch_dependent=batch_dependent)), network(Float32())
    left = [t.dims for t in quantized.graph.initializer if t.data_type == TensorProto.FLOAT]
    # Columns of scales.
    assert {sizes[1] for sizes in left if len(sizes) == 2} == {1}
    # A quarter, the scales, the biases.
    assert quantized.ByteSize() < 0.32 * exact.ByteSize()


def test_onnxruntime_multiplies_small_matrices_out_when_it_loads_them(
    network: Make, tmp_path: Path
) -> None:
    loaded = tmp_path / "loaded.onnx"
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(loaded)
    ort.InferenceSession(
        network(Int8()).SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    model = onnx.load(loaded)
    stored = {t.name for t in model.graph.initializer if t.data_type == TensorProto.FLOAT}
    products = [
        node for node in model.graph.node if node.op_type in ("Gemm", "MatMul", "FusedGemm")
    ]
    assert len(products) == 3
    assert all(node.input[1] in stored for node in products)


def test_the_head_and_the_embedding_share_one_table(network: Make) -> None:
    tables = [
        to_array(t)
        for t in network(Int8()).graph.initializer
        if sorted(t.dims) == sorted((_WORDS, _WIDTH))
    ]
    assert [(table.dtype, table.shape) for table in tables] == [(np.int8, (_WORDS, _WIDTH))]


def test_layers_that_share_a_small_matrix_store_it_once(build: Any, open_graph: Any) -> None:
    matrix = _random(40, 40)
    straight, turned = Linear(matrix), Linear(matrix, transposed=True)

    def make(kernels: Kernels) -> onnx.ModelProto:
        def emit(graph: GraphBuilder) -> dict[str, str]:
            first = kernels.linear(graph, "x", straight)
            second = kernels.linear(graph, first, turned, "x")
            third = kernels.linear(graph, second, straight, first)
            return {"y": kernels.linear(graph, third, turned)}

        return build(emit, {"x": ("float32", ("rows", 40))}, _Y)

    quantized = make(Int8())
    stored = [t for t in quantized.graph.initializer if t.data_type == TensorProto.INT8]
    # Inputs of one are outputs of another, and scales belong to outputs.
    assert len(stored) == 2
    x = np.random.default_rng(0).standard_normal((_BATCH, 40)).astype(np.float32)
    [found], [expected] = (open_graph(one)(x=x) for one in (quantized, make(Float32())))
    assert 0 < _error(found, expected) < 0.02


@pytest.mark.parametrize(("batch_dependent", "bound"), [(False, 0.02), (True, 0.04)])
def test_numbers_stay_near_float32(
    network: Make, open_graph: Any, batch_dependent: bool, bound: float
) -> None:
    ids = np.arange(_BATCH, dtype=np.int32)
    [expected] = open_graph(network(Float32()))(ids=ids)
    [found] = open_graph(network(Int8(batch_dependent=batch_dependent)))(ids=ids)
    assert 0 < _error(found, expected) < bound


@pytest.fixture(scope="module")
def row_runs(network: Make, open_graph: Any) -> list[Any]:
    quantized = network(Int8())
    return [open_graph(quantized, threads) for threads in (1, 2)]


@settings(max_examples=60, deadline=None)
@given(ids=st.lists(st.integers(0, _WORDS - 1), min_size=1, max_size=_BATCH), data=st.data())
def test_a_row_is_the_same_to_the_last_bit_in_every_batch(
    row_runs: list[Any], ids: list[int], data: st.DataObject
) -> None:
    [alone] = row_runs[0](ids=np.array(ids[:1], np.int32))
    order = data.draw(st.permutations(range(len(ids))))
    for run in row_runs:
        [together] = run(ids=np.array(ids, np.int32)[list(order)])
        np.testing.assert_array_equal(together[order.index(0)], alone[0])


def test_with_one_scale_for_all_rows_a_row_does_depend_on_the_others(
    network: Make, open_graph: Any
) -> None:
    run = open_graph(network(Int8(batch_dependent=True)))
    [alone] = run(ids=np.array([5], np.int32))
    [together] = run(ids=np.arange(40, dtype=np.int32))
    assert (alone[0] != together[5]).any()
    assert _error(together[5], alone[0]) < 0.04


@pytest.mark.parametrize("inputs", [1, 20, 63, 64, 65, 100, 320, 513])
@pytest.mark.parametrize("outputs", [33, 5000])
def test_matrices_of_any_width_are_exact_by_row_too(
    one_layer: Make, open_graph: Any, inputs: int, outputs: int
) -> None:
    layer = Linear(_random(inputs, outputs), _random(outputs))
    run = open_graph(one_layer(Int8(), layer))
    x = np.random.default_rng(0).standard_normal((_BATCH, inputs)).astype(np.float32)
    [all_rows], [expected] = run(x=x), open_graph(one_layer(Float32(), layer))(x=x)
    assert _error(all_rows, expected) < 0.02
    for size in (1, 2, 3, 7, 32, 33, 69):
        [some] = run(x=x[:size])
        np.testing.assert_array_equal(some, all_rows[:size])


@pytest.mark.parametrize("before", ["Identity", "Relu"])
def test_a_wide_head_is_multiplied_as_integers_and_exact_by_row(
    one_layer: Make, open_graph: Any, before: str
) -> None:
    layer = Linear(_random(5000, 40), transposed=True, nonnegative=before == "Relu")
    quantized = one_layer(Int8(), layer, before)
    assert "MatMulInteger" in {node.op_type for node in quantized.graph.node}
    x = np.random.default_rng(0).standard_normal((_BATCH, 40)).astype(np.float32)
    run = open_graph(quantized)
    [found], [expected] = run(x=x), open_graph(one_layer(Float32(), layer, before))(x=x)
    assert _error(found, expected) < 0.02
    for size in (1, 2, 33):
        np.testing.assert_array_equal(run(x=x[:size])[0], found[:size])


def test_who_only_ranks_reads_the_head_before_its_rows_are_scaled(
    build: Any, open_graph: Any
) -> None:
    def make(ranked: bool) -> onnx.ModelProto:
        layer = Linear(_random(5000, 40), transposed=True, ranked=ranked)

        def emit(graph: GraphBuilder) -> dict[str, str]:
            logits = Int8().linear(graph, "x", layer)
            return {"y": graph.op("ArgMax", logits, axis=1)}

        return build(emit, {"x": ("float32", ("rows", 40))}, {"y": ("int64", ("rows", 1))})

    ranked, plain = make(True), make(False)
    assert len(plain.graph.node) - len(ranked.graph.node) == 1
    x = np.random.default_rng(0).standard_normal((_BATCH, 40)).astype(np.float32)
    [one], [other] = (open_graph(model)(x=x) for model in (ranked, plain))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("before", ["Identity", "Relu"])
def test_a_row_of_zeros_gives_the_bias(one_layer: Make, open_graph: Any, before: str) -> None:
    layer = Linear(_random(400, 400), _random(400), nonnegative=before == "Relu")
    quantized = one_layer(Int8(), layer, before)
    assert "MatMulIntegerToFloat" in {node.op_type for node in quantized.graph.node}
    x = np.zeros((3, 400), np.float32)
    x[1] = -1 if before == "Relu" else 1e-44
    [found] = open_graph(quantized)(x=x)
    np.testing.assert_array_equal(found, np.tile(_random(400), (3, 1)))


@pytest.mark.parametrize("batch_dependent", [False, True])
@pytest.mark.parametrize("before", ["Identity", "Relu"])
def test_no_processor_cuts_the_largest_sums_off(
    one_layer: Make, open_graph: Any, before: str, batch_dependent: bool
) -> None:
    # Weights of which neighbours are alike, and inputs that are large where they are.
    weights = np.sign(_random(400, 400)).repeat(2, axis=0)[:401]
    layer = Linear(weights, nonnegative=before == "Relu")
    x = np.maximum(weights.T, -1 if before == "Identity" else 0)
    [found] = open_graph(one_layer(Int8(batch_dependent=batch_dependent), layer, before))(x=x)
    [expected] = open_graph(one_layer(Float32(), layer, before))(x=x)
    assert _error(found, expected) < 0.01


def test_rows_of_any_size_keep_their_relative_error(one_layer: Make, open_graph: Any) -> None:
    layer = Linear(_random(400, 400))
    x = np.random.default_rng(0).standard_normal((6, 400)).astype(np.float32)
    x *= 10.0 ** np.arange(-9, 9, 3, dtype=np.float32)[:, None]
    [found], [expected] = (open_graph(one_layer(one, layer))(x=x) for one in (Int8(), Float32()))
    assert max(map(_error, found, expected)) < 0.02


@pytest.mark.parametrize("kernels", [Int8, NativeInt8])
@pytest.mark.parametrize("width", [8, 400])
def test_a_matrix_that_is_not_finite_is_refused(kernels: Any, width: int) -> None:
    layer = Linear(np.full((width, width), np.nan, np.float32))
    with pytest.raises(ValueError, match=f"matrix {width} × {width} holds a value .* not finite"):
        kernels().linear(GraphBuilder([], 18), "x", layer)


def test_a_small_table_stays_float32(build: Any) -> None:
    table = _random(30, 8)
    for kernels in (Int8(), NativeInt8(), Int8(batch_dependent=True)):
        model = build(
            lambda graph, kernels=kernels: {"y": kernels.embedding(graph, table, "ids")},
            {"ids": ("int32", ("rows",))},
            _Y,
        )
        [kept] = map(to_array, model.graph.initializer)
        np.testing.assert_array_equal(kept, table)
