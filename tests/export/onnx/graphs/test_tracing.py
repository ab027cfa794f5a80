"""Functions of variables through tf2onnx: it sees no weights, and the graph has each once."""

from typing import Any

import keras
import numpy as np
import onnx
import pytest
import tensorflow as tf
import tf2onnx
from onnx.numpy_helper import to_array

from keras_transformer.artefact.entries import GraphTensor
from keras_transformer.export.onnx.graphs.tracing import converted

X, Y = (GraphTensor(name=name, dtype="float32", shape=("rows", 6)) for name in "xy")
MATRIX, HEADS, BIAS, UNREAD = (
    keras.Variable(np.random.default_rng(0).standard_normal(shape).astype(np.float32))
    for shape in ((7, 6), (6, 2, 3), (2, 3), (40, 50))
)


def tied(x: tf.Tensor) -> dict[str, tf.Tensor]:
    """A projection to two heads, a product with a matrix and one with its transpose."""
    heads = tf.reshape(x @ tf.reshape(HEADS, (6, 6)), (-1, 2, 3)) + BIAS.value * 2.0
    logits = tf.matmul(tf.reshape(heads, (-1, 6)), tf.convert_to_tensor(MATRIX), transpose_b=True)
    return {"y": logits @ tf.convert_to_tensor(MATRIX)}


def test_weights_are_stored_in_the_form_that_is_read(
    monkeypatch: pytest.MonkeyPatch, open_graph: Any
) -> None:
    seen: list[onnx.ModelProto] = []
    convert = tf2onnx.convert.from_function

    def noted(*given: Any, **options: Any) -> tuple[onnx.ModelProto, Any]:
        found = convert(*given, **options)
        seen.append(onnx.ModelProto.FromString(found[0].SerializeToString()))
        return found

    monkeypatch.setattr(tf2onnx.convert, "from_function", noted)
    weights = [MATRIX, HEADS, BIAS, UNREAD]
    model = converted(tied, ([X], [Y]), 18, weights)
    # A pass of TensorFlow or of tf2onnx would copy them.
    assert max(to_array(one).size for one in seen[0].graph.initializer) < 6
    shapes = sorted(tuple(one.dims) for one in model.graph.initializer if len(one.dims) > 1)
    assert shapes == [(2, 3), (6, 6), (7, 6)]
    assert [value.name for value in model.graph.input] == ["x"]
    onnx.checker.check_model(model)
    x = np.ones((3, 6), np.float32)
    np.testing.assert_allclose(open_graph(model)(x=x)[0], tied(x)["y"], rtol=1e-5)
    assert MATRIX.numpy().shape == (7, 6)
