"""The pictures of masks hold the masks written out by hand."""

import numpy as np
import pytest

from keras_transformer.plotting.masks import masks

PADDING = [[1, 1, 1, 0]] * 4
CAUSAL = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
BOTH = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 0]]


def test_the_three_masks_of_three_tokens_and_one_place_of_padding() -> None:
    figure = masks(tokens=3, padding=1)
    found = [np.asarray(axes.images[0].get_array()).astype(int).tolist() for axes in figure.axes]
    assert found == [PADDING, CAUSAL, BOTH]
    assert [axes.get_title().split("\n")[0] for axes in figure.axes] == [
        "Padding mask",
        "Causal mask",
        "Both together",
    ]


@pytest.mark.parametrize(
    ("tokens", "padding", "message"),
    [(0, 1, "tokens must be at least 1, got 0"), (1, -1, "padding must be at least 0, got -1")],
)
def test_impossible_counts_are_refused(tokens: int, padding: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        masks(tokens, padding)
