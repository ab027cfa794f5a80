"""Pictures of matrices hold their numbers."""

import numpy as np
import pytest

from keras_transformer.plotting.matrices import numbered_matrices


def test_each_cell_holds_its_number_and_hidden_ones_infinity() -> None:
    matrix = [[1.5, -np.inf], [-0.25, 1e-7]]
    [axes] = numbered_matrices({"Scores": matrix}, ["a", "b"], ["c", "d"]).axes
    assert [text.get_text() for text in axes.texts] == ["1.5", "-∞", "-0.25", "1e-7"]
    assert axes.get_title() == "Scores"


@pytest.mark.parametrize(
    ("matrix", "colours"), [([[0.5, 0.5]], "Blues"), ([[0.5, -0.5]], "RdBu_r")]
)
def test_only_negative_numbers_need_two_colours(matrix: list, colours: str) -> None:
    [axes] = numbered_matrices({"": matrix}, ["a"], ["b", "c"]).axes
    assert axes.images[0].get_cmap().name == colours


def test_a_matrix_of_another_shape_is_named() -> None:
    with pytest.raises(ValueError, match=r"shape \(1, 2\).*got \(1, 1\) for 'Weights'"):
        numbered_matrices({"Weights": [[1.0]]}, ["a"], ["b", "c"])


def test_no_matrix_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one, got none"):
        numbered_matrices({}, ["a"], ["b"])
