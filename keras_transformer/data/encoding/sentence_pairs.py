"""Pairs of sentences for next-sentence prediction (Devlin et al. 2018): each sentence of a document
with its next, and what may stand in the next one's place.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keras_transformer.data.encoding.encode import tokenize
from keras_transformer.data.encoding.id_pairs import RaggedIds, check_max_length
from keras_transformer.data.encoding.single_texts import EncodedTexts, TextReport
from keras_transformer.data.objectives.objective import Objective
from keras_transformer.data.sources.texts import Texts
from keras_transformer.text.layout import encoder_row
from keras_transformer.text.tokenizer import Tokenizer

# A random sentence is at most this much shorter or longer than the next one, so that its length
# tells nothing; but two tokens in any case.
_TOLERANCE = 0.25


class PairReport(TextReport):
    """How many pairs of sentences were read, kept and dropped; `str()` is one line."""

    noun = "pairs of sentences"


@dataclass(frozen=True, kw_only=True)
class EncodedSentencePairs(EncodedTexts):
    """Rows `bos sentence eos next eos`, and the sentences that may stand in the next one's place.

    Attributes:
        sentences: The ids of all sentences, without special ids.
        documents: The number of each one's document: int32.
        firsts: The number of each row's first sentence, whose next has the next number: int64.
        by_length: The numbers of all sentences, shortest first: int64.
        candidates: Where in `by_length` the sentences begin and end that are about as long as the
            next one of each row: int64 `(rows, 2)`.
    """

    sentences: RaggedIds
    documents: npt.NDArray[np.int32]
    firsts: npt.NDArray[np.int64]
    by_length: npt.NDArray[np.int64]
    candidates: npt.NDArray[np.int64]

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Length of each row with the longest sentence that may stand in the next one's place."""
        lengths = self.sentences.lengths
        longest = lengths[self.by_length[self.candidates[:, 1] - 1]]
        return self.rows.lengths - lengths[self.firsts + 1] + longest


def encode_sentence_pairs(
    texts: Texts, tokenizer: Tokenizer, objective: Objective, max_length: int
) -> EncodedSentencePairs:
    """Makes rows of each sentence and the next one of its document.

    Args:
        texts: A sentence a line; an empty line ends a document.
        tokenizer: Reads the sentences.
        objective: Makes batches of the rows.
        max_length: Longest row in tokens; longer ones are dropped.

    Raises:
        ValueError: No pair is left, or `max_length` is below 2.
    """
    check_max_length(max_length)
    ids = tokenize(texts.lines, tokenizer)
    lines = np.flatnonzero(ids.lengths)
    sentences, documents = ids.take(lines), np.cumsum(ids.lengths == 0)[lines]
    special_ids = tokenizer.special_ids
    added = len(encoder_row([], [], special_ids)[0])
    pairs = np.flatnonzero(np.diff(documents) == 0)
    lengths = added + sentences.lengths[pairs] + sentences.lengths[pairs + 1]
    firsts = pairs[lengths <= max_length]
    report = PairReport(len(pairs), len(firsts), 0, len(pairs) - len(firsts), max_length)
    if not len(firsts):
        raise ValueError(
            f"no pair of sentences of {texts.origin} is left: {report}; check max_length, and that "
            "documents, which empty lines separate, have two or more sentences"
        )
    rows = [
        encoder_row(sentences[one].tolist(), sentences[one + 1].tolist(), special_ids)[0]
        for one in firsts.tolist()
    ]
    packed = RaggedIds.from_rows(rows)
    order = np.argsort(sentences.lengths, kind="stable")
    return EncodedSentencePairs(
        packed,
        packed.lengths - sentences.lengths[firsts + 1] - 1,
        np.zeros(len(rows), np.int32),
        report,
        lines[firsts],
        special_ids,
        objective,
        sentences=sentences,
        documents=documents.astype(np.int32),
        firsts=firsts,
        by_length=order,
        candidates=_of_similar_length(sentences.lengths, firsts, order, max_length - added),
    )


def _of_similar_length(
    lengths: npt.NDArray[np.int64],
    firsts: npt.NDArray[np.int64],
    order: npt.NDArray[np.int64],
    most: int,
) -> npt.NDArray[np.int64]:
    """Returns the `candidates` of rows that have at most `most` tokens of text."""
    own = lengths[firsts + 1]
    off = np.maximum(2, (own * _TOLERANCE).astype(np.int64))
    longest = np.minimum(own + off, most - lengths[firsts])
    begins = np.searchsorted(lengths[order], own - off, side="left")
    ends = np.searchsorted(lengths[order], longest, side="right")
    return np.stack([begins, ends], axis=1)
