"""Graphs against Hugging Face transformers: `make oracles` wrote what theirs compute."""

from collections.abc import Callable

import numpy as np
import onnxruntime as ort
import pytest

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.export.onnx.graphs.operators import NATIVE
from keras_transformer.export.onnx.quantize.precision import target_in
from keras_transformer.models.transformer import Transformer
from keras_transformer.runtime.onnx_graphs.operators import operators_library
from tools.oracles.weights import NAMES, Oracle, load_oracle

Arrays = dict[str, np.ndarray]


@pytest.fixture(scope="module", params=NAMES)
def oracle(request: pytest.FixtureRequest) -> Oracle:
    """Each oracle of one stack in turn."""
    found = load_oracle(request.param)
    if isinstance(found.model, Transformer):
        pytest.skip("it has two stacks, whose graphs are compared with Keras's")
    return found


def opened(oracle: Oracle, target: str, graph: str) -> Callable[..., Arrays]:
    """A graph as a function of further inputs: its outputs by name."""
    model = target_in("float32", target).graph(graph, oracle.model, 18)
    options = ort.SessionOptions()
    if any(entry.domain == NATIVE for entry in model.opset_import):
        options.register_custom_ops_library(str(operators_library()))
    session = ort.InferenceSession(model.SerializeToString(), options)
    names = [output.name for output in session.get_outputs()]

    def run(**more: np.ndarray) -> Arrays:
        inputs = {**oracle.inputs, **more}
        given = {value.name: inputs[value.name] for value in session.get_inputs()}
        return dict(zip(names, session.run(names, given), strict=True))

    return run


@pytest.mark.parametrize("target", ["onnxruntime", "native"])
def test_graphs_compute_what_theirs_do(oracle: Oracle, target: str) -> None:
    if isinstance(oracle.model.config, EncoderConfig):
        check_encoder(oracle, target)
    else:
        check_scores(oracle, target)


def check_encoder(oracle: Oracle, target: str) -> None:
    if "states" in oracle.outputs:
        found = opened(oracle, target, "encoder")()
        assert_close(found["states"], oracle.outputs["states"], oracle.keep)
    places = np.tile(np.arange(oracle.keep.shape[1], dtype=np.int32), (len(oracle.keep), 1))
    [head] = opened(oracle, target, "head")(places=places).values()
    theirs = oracle.outputs["pooled" if oracle.model.config.head is None else "outputs"]
    assert_close(head, theirs, oracle.keep)


def check_scores(oracle: Oracle, target: str) -> None:
    """Log-probabilities of every token, one after the other, are those of their logits."""
    logits = oracle.outputs["outputs"].astype(np.float64)
    scores = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    run = opened(oracle, target, "scorer")
    for token in range(logits.shape[-1]):
        labels = np.full_like(oracle.inputs["token_ids"], token)
        assert_close(run(labels=labels)["log_probabilities"], scores[:, :, token], oracle.keep)


def assert_close(ours: np.ndarray, theirs: np.ndarray, keep: np.ndarray) -> None:
    """Compares outputs, those of tokens only if there is one for each token."""
    assert ours.shape == theirs.shape
    if ours.shape[:2] == keep.shape:
        ours, theirs = ours[keep], theirs[keep]
    np.testing.assert_allclose(ours, theirs, atol=1e-4)
