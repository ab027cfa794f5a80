"""`EncodedStream`: all texts as one row of tokens, of which batches read places side by side.
Row n of a batch goes on where row n of the batch before ended (Dai et al. 2019).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.data.encoding.encode import tokenize
from keras_transformer.data.encoding.id_pairs import TextReport, check_max_length
from keras_transformer.data.encoding.packing import joined_texts
from keras_transformer.data.sources.texts import Texts
from keras_transformer.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class EncodedStream:
    """Texts, each followed by its eos, behind one start token.

    Attributes:
        token_ids: int32 `(tokens + 1,)`, the start token first.
        owners: The line of each token but the start: int64 `(tokens,)`.
        segment_length: Tokens that a row of a batch holds.
        report: What was dropped.
        special_ids: Those of the vocabulary.
    """

    token_ids: npt.NDArray[np.int32]
    owners: npt.NDArray[np.int64]
    segment_length: int
    report: TextReport
    special_ids: SpecialIds

    def __len__(self) -> int:
        return self.report.kept

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Tokens of the one row that all texts make."""
        return np.array([len(self.owners)])

    @property
    def line_numbers(self) -> npt.NDArray[np.int64]:
        """Positions of the kept texts in the original ones."""
        return np.unique(self.owners)

    @property
    def longest_text(self) -> int:
        """Most tokens of a text, without its eos."""
        return int(np.bincount(self.owners).max()) - 1

    def rows(self, batch_tokens: int) -> int:
        """Returns how many places of the stream a batch reads side by side.

        Raises:
            ValueError: A batch cannot hold one segment.
        """
        if self.segment_length > batch_tokens:
            raise ValueError(
                f"batch_tokens={batch_tokens} cannot hold a segment of {self.segment_length} "
                "tokens; raise batch_tokens or lower max_length"
            )
        segments = -(-len(self.owners) // self.segment_length)
        return min(batch_tokens // self.segment_length, segments)


def encode_stream(texts: Texts, tokenizer: Tokenizer, segment_length: int) -> EncodedStream:
    """Joins all texts to one stream.

    Args:
        texts: The texts; empty lines are left out.
        tokenizer: Reads the texts.
        segment_length: Tokens that a row of a batch holds.

    Raises:
        ValueError: No text is left, or `segment_length` is below 2.
    """
    check_max_length(segment_length)
    ids, special_ids = tokenize(texts.lines, tokenizer), tokenizer.special_ids
    empty = int((ids.lengths == 0).sum())
    report = TextReport(len(ids), len(ids) - empty, empty, 0)
    if not report.kept:
        raise ValueError(f"no text of {texts.origin} is left: {report}; check the text")
    [(tokens, owners)] = joined_texts(ids, special_ids.eos, across_documents=True)
    start = np.array([special_ids.decoder_start], np.int32)
    return EncodedStream(
        np.concatenate([start, tokens]), owners, segment_length, report, special_ids
    )
