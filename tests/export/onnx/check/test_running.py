"""Outputs are compared by their size: what float32 cannot hold is no difference, all else is."""

import numpy as np
import pytest

from keras_transformer.export.onnx.check.running import Comparison

EXPECTED = {"logits": np.array([[0.5, -10_000.0]], np.float32)}


@pytest.mark.parametrize("change", [(0.00009, 0.0), (0.0, 0.004)])
def test_differences_within_the_tolerance_of_their_size_pass(change: tuple[float, float]) -> None:
    compare = Comparison(1e-4)
    compare({"logits": EXPECTED["logits"] + np.array(change, np.float32)}, EXPECTED)
    assert 0 < compare.largest <= 1e-4


@pytest.mark.parametrize("change", [(0.0002, 0.0), (0.0, 0.1), (np.nan, 0.0)])
def test_others_are_refused(change: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="output logits differs from Keras by up to"):
        Comparison(1e-4)({"logits": EXPECTED["logits"] + np.array(change)}, EXPECTED)


def test_in_int8_what_is_never_written_may_be_rounded() -> None:
    compare = Comparison(1.0)
    compare({"logits": np.array([[0.5, -9_600.0]], np.float32)}, EXPECTED)
    with pytest.raises(ValueError, match="output logits differs"):
        compare({"logits": np.array([[1.6, -10_000.0]], np.float32)}, EXPECTED)


def test_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"has the shape \(1, 1\) in ONNX and \(1, 2\) in Keras"):
        Comparison(1e-4)({"logits": np.zeros((1, 1))}, EXPECTED)


@pytest.mark.parametrize("lowest", [-np.inf, -1e9])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_what_is_forbidden_in_keras_must_be_so_in_the_graph(lowest: float, dtype: str) -> None:
    expected = {"logits": np.array([[0.5, -np.inf]], np.float32)}
    with np.errstate(over="ignore"):
        found = np.array([[0.5, lowest]], np.float32).astype(dtype)
    Comparison(1e-4)({"logits": found}, expected)
    with pytest.raises(ValueError, match="output logits differs"):
        Comparison(1.0)({"logits": np.array([[0.5, -10_000.0]], np.float32)}, expected)
