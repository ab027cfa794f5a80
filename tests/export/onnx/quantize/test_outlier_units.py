"""Copies of hidden units with outliers among their weights: the same layer, and smaller scales."""

import numpy as np

from keras_transformer.export.onnx.quantize.int8_matrices import largest_sums
from keras_transformer.export.onnx.quantize.outlier_units import with_copies


def kernel(units: int = 400) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((units, 90)).astype(np.float32)


def test_copies_together_weigh_what_the_unit_does() -> None:
    weights = kernel()
    weights[7, :30] *= 20
    weights[[9, 350], 40:] *= 8
    units, divided = with_copies(weights)
    assert len(units) == len(divided) == 416 and (units[:400] == np.arange(400)).all()
    assert np.count_nonzero(units == 7) > np.count_nonzero(units == 9) > 1
    together = np.zeros_like(weights)
    np.add.at(together, units, divided)
    np.testing.assert_allclose(together, weights, rtol=1e-6)


def test_scales_are_near_those_without_the_outliers() -> None:
    plain = kernel()
    weights = plain.copy()
    weights[7, :30] *= 20
    _, divided = with_copies(weights)
    scales, before, after = (largest_sums(one.T) for one in (plain, weights, divided))
    assert np.mean(before[:30]) > 3 * np.mean(scales[:30])
    assert np.mean(after[:30]) < 0.5 * np.mean(before[:30])
    np.testing.assert_allclose(after[30:], scales[30:], rtol=0.5)


def test_a_layer_without_outliers_stays_as_it_is() -> None:
    assert with_copies(kernel()) is None
    assert with_copies(np.zeros((32, 4), np.float32)) is None
