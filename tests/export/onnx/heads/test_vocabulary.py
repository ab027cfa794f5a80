"""The vocabulary's matrix with biases in it: products are the logits, in float32 and in bytes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.artefact.entries import GraphTensor
from keras_transformer.decoding.translator import Translator
from keras_transformer.export import OnnxTranslator, export_onnx
from keras_transformer.export.onnx.graphs.builder import GraphBuilder
from keras_transformer.export.onnx.graphs.pieces import Pieces
from keras_transformer.export.onnx.graphs.readers import decoder_parts
from keras_transformer.export.onnx.heads.vocabulary import vocabulary_product
from keras_transformer.export.onnx.layers.linear import Linear
from keras_transformer.export.onnx.quantize.int8 import Int8
from keras_transformer.export.onnx.quantize.kernels import Float32, Kernels

WIDTH = 32
APPEND = Pieces(Float32()).append_ones
STATES = np.random.default_rng(0).standard_normal((7, WIDTH)).astype(np.float32)


@pytest.fixture(scope="module", params=[True, False], ids=["biases", "no biases"])
def model(request: pytest.FixtureRequest, make_model: Any, randomize: Any) -> Any:
    """A model with and without biases of logits."""
    return randomize(make_model(logit_bias=request.param, num_decoder_layers=1))


@pytest.mark.parametrize(
    ("kernels", "tolerance"),
    [(Float32(), 1e-4), (Int8(), 0.1), (Int8(batch_dependent=True), 0.3)],
    ids=["float32", "int8", "int8_batch_dependent"],
)
def test_the_product_is_the_logits(
    kernels: Kernels, tolerance: float, model: Any, build: Any, open_graph: Any, paper: Any
) -> None:
    parts = decoder_parts(model)

    def emit(graph: GraphBuilder) -> dict[str, str]:
        states, matrix = vocabulary_product(graph, parts, "states", APPEND)
        return {"logits": kernels.linear(graph, states, Linear(matrix, transposed=True))}

    inputs = {"states": ("float32", ("rows", WIDTH))}
    run = open_graph(build(emit, inputs, {"logits": ("float32", ("rows", 60))}))
    expected = paper.logits(model.head, STATES)
    np.testing.assert_allclose(run(states=STATES)[0], expected, atol=tolerance)


@pytest.fixture(scope="module")
def make_head(make_model: Any) -> Any:
    """`make_head(kernel, bias)`: a decoder whose head is not tied and has these weights."""
    model = make_model(logit_bias=True, share_embeddings="none", num_decoder_layers=1)

    def make(kernel: np.ndarray, bias: np.ndarray) -> Any:
        model.head.linear.kernel.assign(kernel)
        model.head.bias.assign(bias)
        return decoder_parts(model)

    return make


@given(seed=st.integers(0, 1000), spread=st.sampled_from([0.0, 0.1, 1.0, 20.0]))
def test_in_bytes_a_bias_loses_less_than_a_step(seed: int, spread: float, make_head: Any) -> None:
    random = np.random.default_rng(seed)
    parts = make_head(
        0.1 * random.standard_normal((WIDTH, 60)), spread * random.standard_normal(60)
    )
    graph = GraphBuilder([GraphTensor(name="states", dtype="float32", shape=("rows", WIDTH))], 18)
    _, matrix = vocabulary_product(graph, parts, "states", APPEND)
    values, steps = Int8().lines(matrix, 0, summed=True)
    found = values[:, WIDTH:].sum(axis=1) * steps
    errors = np.abs(found - np.asarray(parts.head.bias)) / steps
    assert errors.max() < 1


@pytest.mark.parametrize("bias", [-np.inf, -3e38])
def test_a_token_that_a_bias_forbids_has_a_finite_row(bias: float, make_head: Any) -> None:
    random = np.random.default_rng(0)
    biases = np.where(np.arange(60) == 7, bias, random.standard_normal(60))
    graph = GraphBuilder([GraphTensor(name="states", dtype="float32", shape=("rows", WIDTH))], 18)
    parts = make_head(random.standard_normal((WIDTH, 60)), biases)
    _, matrix = vocabulary_product(graph, parts, "states", APPEND)
    sums = matrix[:, WIDTH:].sum(axis=1)
    assert sums[7] == pytest.approx(-1e9, rel=1e-5)
    np.testing.assert_allclose(np.delete(sums, 7), np.delete(biases, 7), atol=1e-5)
    values, steps = Int8().lines(matrix, 0, summed=True)
    found = (values[:, WIDTH:].sum(axis=1) * steps).astype(np.float64)
    assert found[7] == pytest.approx(-1e9, rel=0.01)


@pytest.mark.parametrize(
    ("target", "quantize", "tolerance"),
    [
        ("fastest", None, 1e-4),
        *(
            pytest.param(*values, marks=pytest.mark.exhaustive)
            for values in (
                ("portable", None, 1e-4),
                ("portable", "float16", 0.05),
                ("fastest", "int8", 0.1),
                ("fastest", "int8_batch_dependent", 0.2),
            )
        ),
    ],
)
def test_searches_take_a_forbidden_token_as_little_as_keras(
    target: str,
    quantize: str | None,
    tolerance: float,
    make_model: Any,
    randomize: Any,
    tokenizer: Any,
    texts: list[str],
    tmp_path: Any,
) -> None:
    sizes = {"model_dim": 8, "feed_forward_dim": 8, "num_heads": 1, "num_decoder_layers": 1}
    model = randomize(make_model(logit_bias=True, **sizes))
    forbidden = np.arange(60) % 3 == 0
    forbidden[: tokenizer.special_ids.eos + 1] = False
    model.head.bias.assign(np.where(forbidden, -np.inf, model.head.bias))
    path = export_onnx(model, tokenizer, tmp_path / "a", target=target, quantize=quantize)
    options: dict[str, Any] = {"beam_size": 4, "num_hypotheses": 4, "max_length": 6}
    wanted = Translator(model, tokenizer).translate_n_best(texts[:3], **options)
    found = OnnxTranslator(path, threads=1).translate_n_best(texts[:3], **options)
    ids = np.concatenate([one.ids for few in found for one in few]).astype(int)
    assert not forbidden[ids].any()
    scores = [[[one.score for one in few] for few in side] for side in (found, wanted)]
    np.testing.assert_allclose(*scores, atol=tolerance)
