"""The pictures of positions hold the paper's sinusoids."""

import numpy as np
import pytest

from keras_transformer.plotting.positions import position_curves


def test_matrix_and_curves_equal_the_paper(paper) -> None:
    figure = position_curves(length=20, model_dim=16)
    expected = paper.positions(20, 16)
    matrix = figure.axes[0]
    np.testing.assert_allclose(matrix.images[0].get_array(), expected, atol=1e-6)
    curves = [axes for axes in figure.axes if axes.get_lines()]
    assert [axes.get_ylabel() for axes in curves] == [
        "features\n0 and 1",
        "features\n2 and 3",
        "features\n4 and 5",
        "features\n6 and 7",
    ]
    for feature, line in enumerate(line for axes in curves for line in axes.get_lines()):
        np.testing.assert_allclose(line.get_ydata(), expected[:, feature], atol=1e-6)


def test_the_smallest_picture_can_be_drawn() -> None:
    assert position_curves(length=1, model_dim=2).axes[0].images[0].get_array().tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("length", "model_dim", "message"),
    [(0, 8, "length must be at least 1, got 0"), (5, 1, "model_dim must be at least 2, got 1")],
)
def test_sizes_that_are_too_small_are_refused(length: int, model_dim: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        position_curves(length, model_dim)
