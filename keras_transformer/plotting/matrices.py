"""Matrices with their numbers in the cells: scores, masked scores and attention weights."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from keras_transformer.plotting.style import (
    PALE,
    SIGNED_MAP,
    WEIGHTS_MAP,
    label_tokens,
    new_figure,
    styled,
)

_INCHES_PER_CELL = 0.55


@styled
def numbered_matrices(
    matrices: Mapping[str, Any], rows: Sequence[str], columns: Sequence[str]
) -> Figure:
    """Draws matrices beside each other, such as scores and the weights that softmax makes of them.

    Args:
        matrices: Titles with matrices `(rows, columns)`; -∞, of what a mask hides, is grey. One
            with negative numbers is red above 0 and blue below.
        rows: A token for each row, that which looks.
        columns: A token for each column, that which is looked at.

    Raises:
        ValueError: There is no matrix, or one does not have a row or a column for each token.
    """
    if not matrices:
        raise ValueError("matrices must hold at least one, got none.")
    for title, matrix in matrices.items():
        if np.shape(matrix) != (len(rows), len(columns)):
            raise ValueError(
                f"matrices must have the shape ({len(rows)}, {len(columns)}), a row and a column "
                f"for each token, got {np.shape(matrix)} for {title!r}."
            )
    width = len(matrices) * (_INCHES_PER_CELL * len(columns) + 1)
    figure = new_figure(width, 0.7 * _INCHES_PER_CELL * len(rows) + 1.2)
    grid = figure.subplots(1, len(matrices), squeeze=False)[0]
    for axes, (title, matrix) in zip(grid, matrices.items(), strict=True):
        _draw(axes, np.asarray(matrix, np.float64))
        label_tokens(axes, rows, columns)
        axes.set_title(title)
    return figure


def _draw(axes: Axes, matrix: np.ndarray) -> None:
    shown = np.ma.masked_invalid(matrix)
    highest = float(abs(shown).max() or 1)
    signed = bool((shown < 0).any())
    axes.grid(False)
    axes.set_facecolor(PALE)
    colours = SIGNED_MAP if signed else WEIGHTS_MAP
    image = axes.imshow(
        shown, cmap=colours, vmin=-highest if signed else 0, vmax=highest, aspect="auto"
    )
    for (row, column), value in np.ndenumerate(matrix):
        # White on what is dark.
        dark = np.isfinite(value) and (abs(value) > 0.6 * highest)
        text = f"{value:.3g}" if np.isfinite(value) else "-∞"
        axes.text(
            column,
            row,
            text.replace("e-0", "e-"),
            ha="center",
            va="center",
            fontsize=7,
            color="white" if dark else "black",
        )
    image.set_interpolation("nearest")
