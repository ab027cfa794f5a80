"""Draws word vectors in a plane: their two principal components."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from keras_transformer.plotting.style import COLOURS, new_figure, styled
from keras_transformer.vectors.neighbours import WordVectors

_WORDS = 60


@styled
def word_plane(vectors: WordVectors, words: Sequence[str] = ()) -> Figure:
    """Draws a point for each word.

    Args:
        vectors: The vectors; those of two numbers are drawn as they are.
        words: Which; the first 60 of the file if there are none.

    Raises:
        ValueError: A word has no vector.
    """
    words = list(words) or vectors.words[:_WORDS]
    points = vectors.plane(words)
    figure = new_figure(8, 6)
    axes = figure.subplots()
    axes.scatter(points[:, 0], points[:, 1], s=12, color=COLOURS[0])
    for word, point in zip(words, points, strict=True):
        axes.annotate(word, point, xytext=(3, 2), textcoords="offset points", fontsize=8)
    axes.set(title="Word vectors", xlabel="first component", ylabel="second component")
    return figure
