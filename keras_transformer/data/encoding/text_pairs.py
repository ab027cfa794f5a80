"""Rows of two texts that a model reads apart, both texts of a pair in one row."""

from dataclasses import dataclass

import numpy as np

from keras_transformer.data.encoding.encode import tokenize
from keras_transformer.data.encoding.id_pairs import RaggedIds, TextReport, check_max_length
from keras_transformer.data.encoding.single_texts import EncodedTexts
from keras_transformer.data.objectives.objective import Objective
from keras_transformer.data.sources.corpus import Pairs
from keras_transformer.text.layout import encoder_row
from keras_transformer.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class EncodedTextPairs(EncodedTexts):
    """Rows `bos first eos bos second eos`; the model never reads both texts in one row."""

    @property
    def longest_text(self) -> int:
        """Most tokens of one text, without the special ids around it."""
        is_text = ~np.isin(self.rows.values, sorted(self.special_ids.added_to_text))
        starts = np.stack([self.rows.offsets[:-1], self.rows.offsets[:-1] + self.second_starts], 1)
        return int(np.add.reduceat(is_text, starts.reshape(-1), dtype=np.int64).max())


def encode_text_pairs(
    pairs: Pairs, tokenizer: Tokenizer, objective: Objective, max_length: int
) -> EncodedTextPairs:
    """Makes a row of each pair.

    Args:
        pairs: The texts.
        tokenizer: Reads the texts.
        objective: Makes batches of the rows.
        max_length: Longest text in tokens, with bos and eos; pairs with a longer one are dropped,
            as those with an empty one are.

    Raises:
        ValueError: No pair is left, or `max_length` is below 2.
    """
    check_max_length(max_length)
    special_ids = tokenizer.special_ids
    sides = [tokenize(side, tokenizer) for side in (pairs.source, pairs.target)]
    is_empty = (sides[0].lengths == 0) | (sides[1].lengths == 0)
    rows, starts, kept = [], [], []
    for number in np.flatnonzero(~is_empty).tolist():
        first, second = (encoder_row(ids[number].tolist(), None, special_ids)[0] for ids in sides)
        if max(len(first), len(second)) <= max_length:
            rows.append(first + second)
            starts.append(len(first))
            kept.append(number)
    empty = int(is_empty.sum())
    report = TextReport(len(pairs), len(rows), empty, len(pairs) - len(rows) - empty, max_length)
    if not rows:
        raise ValueError(
            f"no pair of {pairs.origin} is left: {report}; check the text and max_length"
        )
    return EncodedTextPairs(
        RaggedIds.from_rows(rows),
        np.asarray(starts, np.int64),
        np.zeros(len(rows), np.int32),
        report,
        np.asarray(kept, np.int64),
        special_ids,
        objective,
    )
