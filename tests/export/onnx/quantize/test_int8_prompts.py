"""Texts that a decoder reads in int8, by our operators and by onnxruntime's, beside what Keras
computes in float32.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.export.onnx.graphs.operators import NATIVE
from keras_transformer.export.onnx.quantize import int8
from keras_transformer.export.onnx.quantize.precision import target_in

OPSET, WIDTH = 18, 128


@pytest.fixture(autouse=True)
def _all_matrices_count_as_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(int8, "_FEW_WEIGHTS", 0)


@pytest.fixture
def make(small_decoder: Callable[..., Any], randomize: Callable[..., Any]) -> Callable[[int], Any]:
    """`make(factor)`: a decoder of which one feature of the states is larger than the others."""
    sizes = {"model_dim": WIDTH, "feed_forward_dim": 256, "num_heads": 4, "activation": "gelu"}

    def made(factor: int) -> Any:
        model = randomize(small_decoder(**sizes), scale=0.08)
        for weight in model.weights:
            if weight.name == "gamma":
                weight.assign(weight * np.where(np.arange(WIDTH) == 7, factor, 1))
        return model

    return made


@pytest.mark.parametrize("graph", ["scorer", "prefill"])
def test_all_products_are_ours(make: Callable[[int], Any], graph: str) -> None:
    nodes = target_in("int8", "native").graph(graph, make(1), OPSET).graph.node
    attention = {"scorer": {"SequenceAttention"}, "prefill": {"FillCache", "PromptAttention"}}
    ours = {node.op_type for node in nodes if node.domain == NATIVE}
    assert attention[graph] | {"LookUp", "BytesLinear"} <= ours
    others = {node.op_type for node in nodes if node.domain != NATIVE}
    assert not any("MatMul" in one or "Gemm" in one or "Attention" in one for one in others)


# Ours round with an offset and leave values far beyond all others apart.
@pytest.mark.parametrize(("factor", "most"), [(1, 1.02), (10, 0.9)])
def test_log_probabilities_are_as_near_to_keras_as_by_onnxruntime_s_operators(
    make: Callable[[int], Any], open_graph: Any, factor: int, most: float
) -> None:
    model, ids = make(factor), np.random.default_rng(0).integers(4, 60, (5, 40)).astype(np.int32)
    labels = np.roll(ids, -1, axis=1)
    all_ids = np.asarray(tf.nn.log_softmax(model({"token_ids": ids})))
    exact = np.take_along_axis(all_ids, labels[..., None], axis=2)[..., 0]

    def error(target: str) -> float:
        graph = target_in("int8", target).graph("scorer", model, OPSET)
        [found] = open_graph(graph)(token_ids=ids, labels=labels)
        return float(np.sqrt(np.mean((found - exact) ** 2)) / exact.std())

    assert 0 < error("native") < min(0.04, most * error("onnxruntime"))
