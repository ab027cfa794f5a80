"""A picture of which positions may attend to which, by the model's own mask functions."""

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.layers.masks import attention_mask, causal_mask, padding_mask
from keras_transformer.plotting.sizes import check_masks
from keras_transformer.plotting.style import COLOURS, PALE, new_figure, styled

# With more numbers than this, the labels would overlap.
_MOST_NUMBERED = 24


@styled
def masks(tokens: int, padding: int) -> Figure:
    """Draws the padding mask, the causal mask and both together for one row of a batch.

    Args:
        tokens: Real tokens of the row, at least 1.
        padding: Places of padding after them, at least 0.

    Raises:
        ValueError: A count is too small.
    """
    check_masks(tokens, padding)
    length = tokens + padding
    ids = SpecialIds()
    keep = padding_mask(np.array([[ids.eos] * tokens + [ids.pad] * padding]), ids.pad)
    panels = {
        "Padding mask\n(encoder, attention to the source)": attention_mask(keep)[0, 0],
        "Causal mask\n(no padding)": causal_mask(length),
        "Both together\n(decoder self-attention)": attention_mask(keep, causal=True)[0, 0],
    }
    figure = new_figure(10, 4.7)
    colours = ListedColormap([PALE, COLOURS[0]])
    for axes, (title, mask) in zip(figure.subplots(1, 3), panels.items(), strict=True):
        axes.grid(False)
        axes.imshow(np.broadcast_to(mask, (length, length)), cmap=colours, vmin=0, vmax=1)
        axes.set(title=title, xlabel="place looked at (key)", ylabel="place that looks (query)")
        if length <= _MOST_NUMBERED:
            axes.set_xticks(range(length))
            axes.set_yticks(range(length))
        # White lines between the squares.
        axes.set_xticks(np.arange(length + 1) - 0.5, minor=True)
        axes.set_yticks(np.arange(length + 1) - 0.5, minor=True)
        axes.grid(which="minor", color="white", linewidth=1.2)
        axes.tick_params(which="minor", length=0)
        axes.set_axisbelow(False)
    figure.legend(
        handles=[
            Patch(color=COLOURS[0], label="True: may attend"),
            Patch(color=PALE, label="False: may not"),
        ],
        loc="outside lower center",
        ncols=2,
        title=f"{tokens} tokens, then {padding} of padding; places count from 0",
    )
    return figure
