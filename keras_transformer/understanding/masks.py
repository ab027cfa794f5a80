"""Masks in texts: takes ids with masks and the logits of their places, and returns the best
fillings.
"""

from collections.abc import Collection, Sequence
from itertools import compress
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keras_transformer.text.subwords.symbols_apart import is_kept


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


def without_spaces_before_masks(ids: Sequence[int], mask: int, space: int | None) -> list[int]:
    """Drops the piece of a space ("▁" of SentencePiece) before a mask that follows a space.

    Training replaces whole pieces, spaces included, so a mask stands where a piece such as "▁red"
    stood.

    Args:
        ids: Ids of a text.
        mask: Id of `<mask>`.
        space: Id of that piece; None if the vocabulary has no such piece.
    """
    return list(compress(ids, is_kept(ids, {mask}, space)))


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
            for filling in found
            for token, value in zip(tokens, values, strict=True)
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
