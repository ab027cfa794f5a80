"""Draws sinusoidal position vectors (paper, section 3.5): a matrix, and some features as curves."""

import numpy as np
from keras import ops
from matplotlib.figure import Figure

from keras_transformer.layers import SinusoidalPositions
from keras_transformer.plotting.sizes import check_positions
from keras_transformer.plotting.style import COLOURS, SIGNED_MAP, new_figure, styled

# Pairs of features drawn as curves: parts of the width, from the fastest waves on.
_CURVES_AT = (0.0, 0.15, 0.3, 0.45)


@styled
def position_curves(length: int, model_dim: int) -> Figure:
    """Draws the position vectors that the model adds to its embeddings.

    Args:
        length: Number of positions, from 0 on.
        model_dim: Width of a vector, at least 2.

    Raises:
        ValueError: One of them is too small.
    """
    check_positions(length, model_dim)
    vectors = np.asarray(
        SinusoidalPositions(model_dim, dtype="float32").vectors(ops.arange(length))
    )
    figure = new_figure(11, 4.8)
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=(1, 1.1))[0]
    matrix = left.subplots()
    matrix.grid(False)
    image = matrix.imshow(vectors, cmap=SIGNED_MAP, vmin=-1, vmax=1, aspect="auto")
    matrix.set(title="Position vectors", xlabel="feature", ylabel="position in tokens")
    left.colorbar(image, ax=matrix, label="value")
    pairs = sorted({int(part * (model_dim // 2)) for part in _CURVES_AT})
    curves = right.subplots(len(pairs), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for axes, pair in zip(curves, pairs, strict=True):
        axes.plot(vectors[:, 2 * pair], color=COLOURS[0], label="even feature: sine")
        axes.plot(vectors[:, 2 * pair + 1], "--", color=COLOURS[1], label="odd feature: cosine")
        axes.set_ylim(-1.1, 1.1)
        axes.set_ylabel(f"features\n{2 * pair} and {2 * pair + 1}")
    curves[0].set_title("Single features")
    curves[-1].set_xlabel("position in tokens")
    right.legend(handles=curves[0].get_lines(), loc="outside lower center", ncols=2)
    return figure
