"""The other engines' models are the Keras model: same states of rows with and without padding."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from encoding.onnxruntime_model import FILE, write_optimized
from encoding.weights import named_weights
from speed.random_run import draw_weights

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.models.encoder_only import build_encoder

VOCABULARY = 120
ROWS = [[2, 17, 5, 99, 42, 8, 3], [2, 61, 3], [2, 4, 4, 4, 119, 3]]
SIZES = {
    "model_dim": 32,
    "feed_forward_dim": 48,
    "num_heads": 2,
    "num_layers": 2,
    "max_positions": 16,
}


def make(**fields: Any) -> Any:
    model = build_encoder(EncoderConfig(vocab_size=VOCABULARY, **{**SIZES, **fields}))
    draw_weights(model, 2)
    return model


def padded() -> tuple[np.ndarray, np.ndarray]:
    """Ids and their mask."""
    ids = np.zeros((len(ROWS), max(map(len, ROWS))), np.int32)
    for row, values in zip(ids, ROWS, strict=True):
        row[: len(values)] = values
    return ids, (ids != 0).astype(np.int32)


def states_of(model: Any) -> np.ndarray:
    ids, _ = padded()
    inputs = {"token_ids": ids}
    if model.config.num_token_types > 1:
        inputs["token_type_ids"] = np.zeros_like(ids)
    return np.asarray(model.encoder(inputs))


def check(found: np.ndarray, model: Any, tolerance: float = 1e-4) -> None:
    _, mask = padded()
    np.testing.assert_allclose(found[mask > 0], states_of(model)[mask > 0], atol=tolerance)


@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 1e-4), ("int8", 0.3)])
def test_onnxruntimes_optimizer_keeps_the_states(
    precision: str, tolerance: float, tmp_path: Path
) -> None:
    pytest.importorskip("sympy")
    model = make()
    write_optimized(named_weights(model), model.config, tmp_path / "peer", precision)
    session = onnxruntime.InferenceSession(tmp_path / "peer" / FILE)
    ids, mask = padded()
    given: Any = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    (found,) = session.run(None, given)
    check(np.asarray(found), model, tolerance)


def test_onnxruntimes_optimizer_fuses_every_block(tmp_path: Path) -> None:
    pytest.importorskip("sympy")
    model = make()
    write_optimized(named_weights(model), model.config, tmp_path / "peer", "float32")
    operators = [node.op_type for node in onnx.load(tmp_path / "peer" / FILE).graph.node]
    assert operators.count("Attention") == operators.count("BiasGelu") == 2
    assert "Softmax" not in operators
    assert "LayerNormalization" not in operators


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"norm": "pre"}, "norm must be 'post' in BERT's form, got 'pre'"),
        ({"num_token_types": 0}, "has token types"),
    ],
)
def test_weights_of_another_form_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        named_weights(make(**fields))
