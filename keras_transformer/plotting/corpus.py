"""Histograms of a corpus's sentence lengths and of the padding in its batches."""

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from keras_transformer.data.batching.batches import evaluation_batches
from keras_transformer.data.encoding.encode import EncodedPairs
from keras_transformer.plotting.style import COLOURS, WEIGHTS_MAP, new_figure, styled

_MOST_BINS = 60


@styled
def corpus_lengths(encoded: EncodedPairs, batch_tokens: int, origin: str) -> Figure:
    """Draws lengths of both sides, one against the other, and the padding of the batches.

    Args:
        encoded: The pairs.
        batch_tokens: As for training.
        origin: The corpus's name, for the title.
    """
    source, target = encoded.source_lengths, encoded.target_lengths
    figure = new_figure(12, 4.2)
    lengths, against, padding = figure.subplots(1, 3)
    _draw_lengths(lengths, {"source": source, "target": target})
    _draw_against(figure, against, source, target)
    _draw_padding(padding, padding_by_batch(encoded, batch_tokens), batch_tokens)
    figure.suptitle(f"{origin}: {encoded.report}")
    return figure


def padding_by_batch(encoded: EncodedPairs, batch_tokens: int) -> npt.NDArray[np.int64]:
    """Counts padding and places of each batch's ids, both sides: int64 `(batches, 2)`."""
    counts = []
    for inputs, _, _ in evaluation_batches(encoded, batch_tokens).as_numpy_iterator():
        sides, pad = (inputs["source_ids"], inputs["target_ids"]), encoded.special_ids.pad
        padding = sum((side == pad).sum() for side in sides)
        counts.append((padding, sum(side.size for side in sides)))
    return np.array(counts, np.int64)


def _draw_lengths(axes: Axes, sides: dict[str, npt.NDArray[np.int64]]) -> None:
    edges = _edges(*sides.values())
    for colour, (name, lengths) in zip(COLOURS, sides.items(), strict=False):
        label = f"{name}: mean {lengths.mean():.1f}, longest {lengths.max()}"
        axes.hist(lengths, edges, histtype="step", linewidth=1.6, color=colour, label=label)
    axes.set(title="Lengths", xlabel="tokens, end token included", ylabel="sentences")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2))


def _edges(*sides: npt.NDArray[np.int64]) -> list[float]:
    """Returns the edges of about `_MOST_BINS` bins, each as many lengths wide."""
    longest = max(int(lengths.max()) for lengths in sides)
    width = max(1, round(longest / _MOST_BINS))
    return [first - 0.5 for first in range(1, longest + width + 1, width)]


def _draw_against(
    figure: Figure, axes: Axes, source: npt.NDArray[np.int64], target: npt.NDArray[np.int64]
) -> None:
    edges = _edges(source, target)
    longest = edges[-1]
    *_, image = axes.hist2d(source, target, edges, cmin=1, norm="log", cmap=WEIGHTS_MAP)
    axes.plot([0, longest], [0, longest], ":", color=COLOURS[6], linewidth=1, label="equal length")
    axes.set(title="Target against source", xlabel="source tokens", ylabel="target tokens")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2))
    figure.colorbar(image, ax=axes, label="pairs")


def _draw_padding(axes: Axes, counts: npt.NDArray[np.int64], batch_tokens: int) -> None:
    shares = 100 * counts[:, 0] / counts[:, 1]
    axes.hist(shares, bins=30, color=COLOURS[2])
    total = 100 * counts[:, 0].sum() / counts[:, 1].sum()
    axes.axvline(total, color=COLOURS[1], label=f"all {len(shares):,} batches: {total:.1f} %")
    axes.set(title=f"Padding (batch_tokens {batch_tokens:,})")
    axes.set(xlabel="padding in a batch, %", ylabel="batches")
    axes.set_xlim(left=0)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2))
