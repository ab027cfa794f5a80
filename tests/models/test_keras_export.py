"""`export` of Keras on models of every family: the file's outputs are the live model's."""

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

# Two batches, of which the second has other sizes.
BATCHES = [
    [([2, 5, 9, 6, 3], [2, 7, 4, 11]), ([2, 17, 3], [2, 18])],
    [([8, 3], [2, 3, 5]), ([4, 9, 3], [2, 3]), ([5, 3], [2])],
]


def named(outputs: Any) -> dict[str, np.ndarray]:
    outputs = outputs if isinstance(outputs, dict) else {"outputs": outputs}
    return {name: np.asarray(value) for name, value in outputs.items()}


def saved_model(path: Path) -> Any:
    return tf.saved_model.load(str(path)).serve


def onnx(path: Path) -> Any:
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]

    def run(inputs: dict[str, Any]) -> Any:
        given = {one.name: np.asarray(inputs[one.name.split(":")[0]]) for one in session.get_inputs()}
        return dict(zip(names, session.run(None, given), strict=True))

    return run


def litert(path: Path) -> Any:
    interpreter = tf.lite.Interpreter(model_path=str(path))
    return interpreter.get_signature_runner()
