"""A picture of which source tokens a translation comes from: the mean attention of all layers and
heads.
"""

from matplotlib.figure import Figure

from keras_transformer.plotting.sentences import SeenPair
from keras_transformer.plotting.style import COLOURS, draw_weights, label_tokens, new_figure, styled

_INCHES_PER_TOKEN = 0.26


@styled
def alignment(pair: SeenPair) -> Figure:
    """Draws the decoder's attention to the source, a row for each token of the translation.

    Args:
        pair: Tokens and weights.
    """
    weights = pair.maps.cross[:, 0].mean(axis=(0, 1))  # [T, S]
    width = max(3.0, _INCHES_PER_TOKEN * len(pair.source)) + 2.6
    figure = new_figure(width, max(2.4, _INCHES_PER_TOKEN * len(pair.written)) + 1.8)
    axes = figure.subplots()
    image = draw_weights(axes, weights, highest=weights.max())
    label_tokens(axes, pair.written, pair.source)
    axes.plot(
        weights.argmax(axis=1),
        range(len(weights)),
        "o",
        color=COLOURS[1],
        markersize=4,
        label="strongest in its row",
    )
    axes.set(title="Alignment", xlabel="source token", ylabel="token being written")
    figure.colorbar(image, ax=axes, label="attention, mean of layers and heads")
    figure.legend(loc="outside lower center")
    return figure
