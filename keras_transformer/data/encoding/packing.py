"""Packing of texts into rows of a fixed length."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.data.encoding.id_pairs import RaggedIds
from keras_transformer.text.layout import decoder_row


def packed_rows(
    ids: RaggedIds, length: int, special_ids: SpecialIds, *, across_documents: bool
) -> tuple[list[list[int]], list[int]]:
    """Joins texts, each with its eos, and cuts them into rows.

    Every token is predicted once: rows begin with the decoder's start and do not overlap.

    Args:
        ids: Ids of each line, without special ids; an empty line ends a document.
        length: Tokens of a row behind its start; the last row of a document or stream is shorter.
        special_ids: Those of the vocabulary.
        across_documents: Whether a row may go on with the next document.

    Returns:
        The rows, and for each the number of the line in which it begins.
    """
    rows, lines = [], []
    for tokens, owners in joined_texts(ids, special_ids.eos, across_documents=across_documents):
        for start in range(0, len(tokens), length):
            rows.append(decoder_row(tokens[start : start + length].tolist(), special_ids))
            lines.append(int(owners[start]))
    return rows, lines


def joined_texts(
    ids: RaggedIds, eos: int, *, across_documents: bool
) -> Iterator[tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]]:
    """Yields the tokens of each document, or of all, and for each token the number of its line."""
    is_empty = ids.lengths == 0
    document = np.zeros(len(ids), np.int64) if across_documents else np.cumsum(is_empty)
    lines = np.flatnonzero(~is_empty)
    if not len(lines):
        return
    for group in np.split(lines, np.flatnonzero(np.diff(document[lines])) + 1):
        parts = [np.append(ids[int(line)], np.int32(eos)) for line in group]
        yield np.concatenate(parts), np.repeat(group, [len(part) for part in parts])
