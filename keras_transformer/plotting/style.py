"""The look of all pictures, and their files, which are written whole or not at all."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from keras_transformer.whole_files import write_bytes

# Colour-blind readers can tell them apart too (Okabe and Ito 2008).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
PALE = "#E6E6E6"
WEIGHTS_MAP = "Blues"
SIGNED_MAP = "RdBu_r"
FORMATS = (".png", ".svg")

_SETTINGS: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": PALE,
    "grid.linewidth": 0.8,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "figure.titlesize": 12,
    "savefig.dpi": 150,
    # Without it names in an SVG file are random, so equal pictures would differ.
    "svg.hashsalt": "keras-transformer",
}

# Decorates every function that draws or saves; the caller's own settings stay as they are.
styled = matplotlib.rc_context(_SETTINGS)


def new_figure(width: float, height: float) -> Figure:
    """Returns an empty figure of this size in inches, whose parts are kept from overlapping."""
    return Figure(figsize=(width, height), layout="constrained")


def check_format(path: Path) -> None:
    """Raises `ValueError` if a picture's name does not end in a supported format."""
    if path.suffix.lower() not in FORMATS:
        raise ValueError(
            f"a picture's name must end in {' or '.join(FORMATS)}, got {str(path)!r}: rename it."
        )


@styled
def save_picture(figure: Figure, path: Path) -> None:
    """Writes a figure in the format of the path's suffix; equal figures give equal bytes.

    Raises:
        ValueError: The suffix is neither .png nor .svg.
        OSError: The file cannot be written; an existing one is unchanged.
    """
    check_format(path)
    kind = path.suffix.lower().removeprefix(".")
    picture = io.BytesIO()
    figure.savefig(picture, format=kind, metadata={"Date": None} if kind == "svg" else None)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, picture.getvalue())


def draw_weights(axes: Axes, weights: Any, highest: float) -> Any:
    """Draws a matrix of weights from 0 to `highest`, one square an entry; returns the image."""
    axes.grid(False)
    axes.spines[:].set_visible(True)
    return axes.imshow(weights, cmap=WEIGHTS_MAP, vmin=0, vmax=highest, interpolation="nearest")


def label_tokens(axes: Axes, rows: Sequence[str], columns: Sequence[str]) -> None:
    """Names the rows and columns of a matrix by tokens; an empty list leaves a side bare."""
    axes.set_xticks(range(len(columns)), columns, rotation=90)
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
