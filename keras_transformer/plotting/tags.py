"""Pictures of tags: the spans of a text in colour, and with a chain the scores of neighbours."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from keras_transformer.plotting.style import (
    COLOURS,
    PALE,
    SIGNED_MAP,
    label_tokens,
    new_figure,
    styled,
)
from keras_transformer.understanding.results import WordTag
from keras_transformer.understanding.tag_schemes import OUTSIDE, TaggedSpan, TagScheme

_CHARACTERS_A_LINE, _INCHES_A_CHARACTER, _INCHES_A_LINE = 90, 0.08, 0.62


@styled
def tagged_text(words: Sequence[WordTag], labels: Sequence[str], chain: Any = None) -> Figure:
    """Draws a text with its spans; tags without a scheme are spans of a word.

    Args:
        words: The words and their tags.
        labels: The tags of the model.
        chain: The model's `LinearChainCRF`, whose scores of a tag and the next word's are drawn as
            well, grey where it is forbidden; None for tags that are found each by itself.
    """
    lines, places = _laid_out([one.word for one in words])
    width, heights = _CHARACTERS_A_LINE * _INCHES_A_CHARACTER, [_INCHES_A_LINE * lines + 0.2]
    if chain is not None:
        heights.append(0.3 * len(labels) + 1)
    figure = new_figure(width, sum(heights))
    grid = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    _draw_text(grid[0], words, places, _spans(words, labels), lines)
    if chain is not None:
        _draw_transitions(grid[1], chain, labels)
    return figure


def _laid_out(words: Sequence[str]) -> tuple[int, list[tuple[int, int]]]:
    """Returns the number of lines, and the line and the first character of each word."""
    places, line, end = [], 0, 0
    for word in words:
        # A span's name needs room of its own.
        room = max(len(word), 4) + 1
        if end and end + room > _CHARACTERS_A_LINE:
            line, end = line + 1, 0
        places.append((line, end))
        end += room
    return line + 1, places


def _spans(words: Sequence[WordTag], labels: Sequence[str]) -> list[TaggedSpan]:
    tags, scheme = [one.tag for one in words], TagScheme.of(labels)
    if scheme is not None:
        return scheme.spans(tags)
    return [TaggedSpan(tag, at, at) for at, tag in enumerate(tags) if tag not in ("", OUTSIDE)]


def _draw_text(
    axes: Axes,
    words: Sequence[WordTag],
    places: Sequence[tuple[int, int]],
    spans: Sequence[TaggedSpan],
    lines: int,
) -> None:
    axes.set_axis_off()
    axes.set_xlim(0, _CHARACTERS_A_LINE)
    axes.set_ylim(lines, 0)
    for one, (line, start) in zip(words, places, strict=True):
        axes.text(start, line + 0.35, one.word, family="monospace", va="center")
    kinds = sorted({span.kind for span in spans})
    for span in spans:
        colour = COLOURS[kinds.index(span.kind) % len(COLOURS)]
        for line in {places[at][0] for at in range(span.first, span.last + 1)}:
            own = [at for at in range(span.first, span.last + 1) if places[at][0] == line]
            start = places[own[0]][1]
            end = places[own[-1]][1] + len(words[own[-1]].word)
            box = (start - 0.3, line + 0.12), end - start + 0.6, 0.46
            axes.add_patch(Rectangle(*box, facecolor=colour, alpha=0.25, edgecolor="none"))
            axes.text(start, line + 0.78, span.kind, color=colour, fontsize=7, va="center")


def _draw_transitions(axes: Axes, chain: Any, labels: Sequence[str]) -> None:
    scores = np.ma.array(np.asarray(chain.transitions), mask=False)
    for pair in chain.forbidden:
        if max(pair) < len(labels):  # The number of tags stands for the edge of a text.
            scores[pair] = np.ma.masked
    highest = float(abs(scores).max() or 1)
    axes.grid(False)
    axes.set_facecolor(PALE)
    image = axes.imshow(scores, cmap=SIGNED_MAP, vmin=-highest, vmax=highest)
    label_tokens(axes, labels, labels)
    axes.set(title="transitions", ylabel="tag", xlabel="tag of the next word")
    axes.figure.colorbar(image, ax=axes, label="score", shrink=0.8)
