"""Masks in texts: the best fillings by the logits of their places, and the texts with their masks
filled.
"""

from collections.abc import Collection, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keras_transformer.text.subwords.interface import Placed
from keras_transformer.translation.text_ids import TextIds


class FilledMasks(NamedTuple):
    """One way to fill all masks of a text.

    Attributes:
        ids: The token of each mask.
        score: Sum of their log-probabilities in nats.
    """

    ids: list[int]
    score: float


class MissingMaskError(ValueError):
    """A text has no mask to be filled.

    Attributes:
        index: Its place among the texts.
    """

    def __init__(self, index: int, mask: str) -> None:
        self.index = index
        super().__init__(
            f"the text at index {index} has no {mask}, or it was cut off: write {mask} where a "
            "word is missing."
        )


def filled_text(
    text: str, masks: Sequence[Placed], tokens: Sequence[int], text_ids: TextIds
) -> str:
    """Returns a text with its masks replaced; everything else stays as it was given.

    Args:
        text: The text.
        masks: Where its masks stand, in their order.
        tokens: The token of each. Where one continues a word, white space before its mask is
            dropped: the mask stood for that, too. Where one brings a space and the text has no
            white space there, a space is added; WordPiece's tokens bring none.
        text_ids: What decodes tokens.
    """
    brings_spaces = text_ids.subwords.space is not None
    filled, behind = "", 0
    for mask, token in zip(masks, tokens, strict=True):
        filled += text[behind : mask.start]
        spelling = _inside(token, text_ids)
        if not spelling.startswith(" ") and filled.strip():
            filled = filled.rstrip()
        elif spelling.startswith(" ") and brings_spaces and filled and not filled[-1].isspace():
            filled += " "
        filled += spelling.lstrip(" ")
        behind = mask.end
    return filled + text[behind:]


def _inside(token: int, text_ids: TextIds) -> str:
    """Returns the text of a token behind another, with the space before it if it begins a word."""
    once, twice = text_ids.decode([[token], [token, token]])
    return twice.removeprefix(once)


def best_fillings(
    logits: npt.NDArray[np.float32], forbidden: Collection[int], count: int
) -> list[FilledMasks]:
    """Returns the best ways to fill the masks of one text, best first.

    The model predicts each mask without knowing the others, so a filling's probability is the
    product of theirs.

    Args:
        logits: float32 `(masks, vocab_size)`.
        forbidden: Ids that no mask is filled with; they count in the softmax all the same.
        count: How many, at least 1; fewer are returned if the vocabulary offers fewer.
    """
    found = [FilledMasks([], 0.0)]
    for row in logits:
        tokens, values = _most_probable(row, forbidden, count)
        longer = [
            FilledMasks([*filling.ids, token], filling.score + value)
            for rank, filling in enumerate(found, start=1)
            # At least rank x rank' pairs are as good as these of both ranks and come before them.
            for token, value in islice(zip(tokens, values, strict=True), count // rank)
        ]
        # A stable sort: among equal scores the fillings before come first, and the lowest id.
        found = sorted(longer, key=lambda filling: -filling.score)[:count]
    return found


def _most_probable(
    logits: npt.NDArray[np.float32], forbidden: Collection[int], count: int
) -> tuple[list[int], list[float]]:
    """Returns the most probable tokens and their log-probabilities; the lower id wins a tie."""
    values = logits.astype(np.float64)
    values -= values.max()
    values -= np.log(np.exp(values).sum())
    values[sorted(forbidden)] = -np.inf
    count = min(count, len(values) - len(forbidden))
    least = np.partition(values, -count)[-count]
    places = np.flatnonzero(values >= least)
    places = places[np.argsort(-values[places], kind="stable")][:count]
    return places.tolist(), values[places].tolist()
