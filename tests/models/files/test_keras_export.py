"""`export` of Keras on models of every family: the file's outputs are the live model's."""

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

# The second batch has other sizes.
BATCHES = [
    [([2, 5, 9, 6, 3], [2, 7, 4, 11]), ([2, 17, 3], [2, 18])],
    [([8, 3], [2, 3, 5]), ([4, 9, 3], [2, 3]), ([5, 3], [2])],
]

Run = Callable[[dict[str, np.ndarray]], list[np.ndarray]]


def run_saved_model(path: Path) -> Run:
    loaded = tf.saved_model.load(str(path))

    def run(inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        return [np.asarray(output) for output in tf.nest.flatten(loaded.serve(inputs))]

    return run


def run_onnx(path: Path) -> Run:
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])

    def run(inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        return session.run(None, {one.name: inputs[one.name] for one in session.get_inputs()})

    return run


def run_litert(path: Path) -> Run:
    try:
        from ai_edge_litert.interpreter import Interpreter
    except ImportError:
        Interpreter = getattr(tf.lite, "Interpreter", None)
    if Interpreter is None:
        pytest.skip("needs the package ai_edge_litert")
    runner = Interpreter(model_path=str(path)).get_signature_runner()

    def run(inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        return [output for _, output in sorted(runner(**inputs).items())]

    return run


FORMATS = {
    "tf_saved_model": ("saved", run_saved_model),
    "onnx": ("model.onnx", run_onnx),
    "litert": ("model.tflite", run_litert),
}
# TensorFlow still has its own interpreter, and says on each use where the other one is.
# A translation takes longest.
QUICK = (("tf_saved_model", 2), ("onnx", 1), ("litert", 2))
ignores_interpreter = pytest.mark.filterwarnings(
    r"ignore:[\s\S]*tf.lite.Interpreter is deprecated:UserWarning"
)


def check(family: Any, model: Any, path: Path, run: Callable[[Path], Run], atol: float) -> None:
    call = run(path)
    for pairs in BATCHES:
        inputs = {name: np.asarray(ids) for name, ids in family.inputs(pairs).items()}
        expected = tf.nest.flatten(model(inputs))
        for found, output in zip(call(inputs), expected, strict=True):
            np.testing.assert_allclose(found, output, atol=atol)


@ignores_interpreter
@pytest.mark.parametrize(
    ("format", "kind"),
    [
        pytest.param(*case, marks=() if case in QUICK else pytest.mark.exhaustive)
        for case in itertools.product(FORMATS, range(3))
    ],
)
def test_a_file_computes_what_the_model_does(
    format: str, kind: int, few_families, random_of, tmp_path: Path
) -> None:
    """The plainest model of each family."""
    name, run = FORMATS[format]
    family = few_families[kind]
    model = random_of(family)
    model.export(tmp_path / name, format=format, verbose=False)
    check(family, model, tmp_path / name, run, 2e-5)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("format", "kind"),
    [
        pytest.param(*case, marks=() if case == ("onnx", 1) else pytest.mark.exhaustive)
        for case in itertools.product(["tf_saved_model", "onnx"], range(3))
    ],
)
def test_a_file_of_a_quantized_model_too(
    format: str, kind: int, few_families, randomize, tmp_path: Path
) -> None:
    name, run = FORMATS[format]
    family = few_families[kind]
    model = randomize(family.build())
    model.quantize("int8")
    model.export(tmp_path / name, format=format, verbose=False)
    # A number between two integers may be rounded to the other one.
    check(family, model, tmp_path / name, run, 0.05)


@pytest.mark.exhaustive
def test_a_file_of_an_adapted_model_has_its_products(few_families, randomize, tmp_path) -> None:
    family = few_families[1]
    model = randomize(family.build())
    model.enable_lora(2)
    model = randomize(model)
    model.export(tmp_path / "saved", verbose=False)
    check(family, model, tmp_path / "saved", run_saved_model, 2e-5)


@ignores_interpreter
@pytest.mark.exhaustive
def test_what_litert_cannot_hold_is_named_with_what_it_can(
    few_families, randomize, tmp_path: Path
) -> None:
    family, path = few_families[2], tmp_path / "model.tflite"
    model = randomize(family.build())
    model.export(path, format="litert", verbose=False, optimizations=[tf.lite.Optimize.DEFAULT])
    check(family, model, path, run_litert, 0.2)
    path.unlink()
    model.quantize("int8")
    with pytest.raises(ValueError, match=re.escape("optimizations=[tf.lite.Optimize.DEFAULT]")):
        model.export(path, format="litert")
    assert not path.exists()
