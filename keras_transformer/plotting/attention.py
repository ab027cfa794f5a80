"""Pictures of the attention weights of a sentence pair or of one text, one for each head."""

from collections.abc import Sequence
from typing import Literal, get_args

from matplotlib.figure import Figure

from keras_transformer.config.checks import check_choice
from keras_transformer.models.attention_maps import Weights
from keras_transformer.plotting.sentences import SeenPair, SeenText
from keras_transformer.plotting.style import draw_weights, label_tokens, new_figure, styled

Part = Literal["encoder", "decoder", "cross"]
_INCHES_PER_TOKEN = 0.15
_TITLES = {
    "encoder": "Encoder self-attention",
    "decoder": "Decoder self-attention",
    "cross": "Attention of the decoder to the source",
}


@styled
def attention_heads(pair: SeenPair, part: Part) -> Figure:
    """Draws the weights of one kind of attention: a row for each layer, a column for each head.

    Args:
        pair: Tokens and weights.
        part: "encoder" (self-attention), "decoder" (self-attention) or "cross" (the decoder's
            attention to the source).

    Raises:
        ValueError: There is no such part, or the model has none.
    """
    check_choice("part", part, get_args(Part))
    if getattr(pair.maps, part) is None:
        raise ValueError(
            f"part {part!r} has no attention, as the decoder has a recurrence in its place: draw "
            "'encoder' or 'cross'."
        )
    weights = getattr(pair.maps, part)[:, 0]  # [L, H, queries, keys]
    rows = pair.source if part == "encoder" else pair.written
    columns = pair.read if part == "decoder" else pair.source
    figure = _grid(weights, rows, columns)
    figure.suptitle(_TITLES[part])
    figure.supylabel("token that looks" if part == "encoder" else "token being written")
    figure.supxlabel("token read" if part == "decoder" else "source token")
    return figure


@styled
def text_attention(text: SeenText) -> Figure:
    """Draws the weights of a text: a row for each layer, a column for each head."""
    figure = _grid(text.attention.weights[:, 0], text.tokens, text.tokens)
    figure.suptitle("Self-attention")
    figure.supylabel("token that looks")
    figure.supxlabel("token that is looked at")
    return figure


def _grid(weights: Weights, rows: Sequence[str], columns: Sequence[str]) -> Figure:
    """Draws weights `(layers, heads, queries, keys)`."""
    layers, heads, _, _ = weights.shape
    cell = [max(1.5, _INCHES_PER_TOKEN * len(tokens)) for tokens in (columns, rows)]
    figure = new_figure(heads * cell[0] + 2.2, layers * (cell[1] + 0.25) + 1.3)
    grid = figure.subplots(layers, heads, squeeze=False)
    for layer in range(layers):
        for head in range(heads):
            axes = grid[layer, head]
            image = draw_weights(axes, weights[layer, head], highest=1)
            is_left, is_bottom = head == 0, layer == layers - 1
            label_tokens(axes, rows if is_left else (), columns if is_bottom else ())
            axes.set_title(f"layer {layer + 1}, head {head + 1}", fontsize=8)
    figure.colorbar(image, ax=grid, label="attention weight (each row sums to 1)", shrink=0.6)
    return figure
