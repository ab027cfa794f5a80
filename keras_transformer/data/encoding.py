"""Pairs of sentences become pairs of id rows: tokenized in a graph, filtered, held compactly.

Comes in: `Pairs` and two tokenizers. Leaves: `EncodedPairs`, which `batching.py` turns into
batches, with a report of what was dropped.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from keras_transformer.data.corpus import Pairs
from keras_transformer.special_ids import BOS_ID, EOS_ID, PAD_ID
from keras_transformer.text.graph_tokenizer import GraphTokenizer
from keras_transformer.text.tokenizer import Tokenizer

# Large enough to keep the operator's threads busy, small enough to hold few strings twice.
_BLOCK = 4096


@dataclass(frozen=True)
class FilterReport:
    """How many pairs came, stayed and were dropped, and why; `str()` is one line."""

    total: int
    kept: int
    empty: int
    too_long: int
    max_length: int | None = None

    def __str__(self) -> str:
        limit = "" if self.max_length is None else f" (over {self.max_length} tokens)"
        return (
            f"kept {self.kept:,} of {self.total:,} pairs; dropped {self.empty:,} empty, "
            f"{self.too_long:,} too long{limit}"
        )


@dataclass(frozen=True)
class RaggedIds:
    """Rows of ids end to end: row i is `values[offsets[i]:offsets[i + 1]]`.

    `values` is int32 (number of ids,), `offsets` int64 (number of rows + 1,).
    """

    values: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]

    @classmethod
    def from_rows(cls, rows: Sequence[Sequence[int]]) -> "RaggedIds":
        """Packs plain lists of ids."""
        flat = [token for row in rows for token in row]
        return cls(np.asarray(flat, np.int32), _offsets([len(row) for row in rows]))

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Ids in each row, int64 (number of rows,)."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> npt.NDArray[np.int32]:
        if not 0 <= row < len(self):
            raise IndexError(f"row must lie in 0 to {len(self) - 1}, got {row}")
        return self.values[self.offsets[row] : self.offsets[row + 1]]


@dataclass(frozen=True)
class EncodedPairs:
    """Pairs ready for batching: ids without bos and eos, at least one on each side.

    `pair_numbers` (int64, one a kept pair) are their positions in the pairs they come from.
    """

    source: RaggedIds
    target: RaggedIds
    report: FilterReport
    pair_numbers: npt.NDArray[np.int64]

    @classmethod
    def from_ids(
        cls,
        source: Sequence[Sequence[int]],
        target: Sequence[Sequence[int]],
        max_length: int | None = None,
    ) -> "EncodedPairs":
        """Filters pairs that are ids already, as synthetic tasks make them.

        Args:
            source: rows of ids, without eos.
            target: as many rows of ids, without bos and eos.
            max_length: as in `encode_pairs`; None keeps every length.

        Raises:
            ValueError: the sides differ in rows, hold pad, bos or eos, or no pair is left.
        """
        if len(source) != len(target):
            raise ValueError(
                f"source and target must have as many rows, got {len(source)} and {len(target)}"
            )
        return _filter(
            RaggedIds.from_rows(source), RaggedIds.from_rows(target), max_length, "the given ids"
        )

    def __len__(self) -> int:
        return len(self.source)

    @property
    def source_lengths(self) -> npt.NDArray[np.int64]:
        """Length of each `source_ids` row as the model sees it, eos included."""
        return self.source.lengths + 1

    @property
    def target_lengths(self) -> npt.NDArray[np.int64]:
        """Length of each `target_ids` row as the model sees it, bos included."""
        return self.target.lengths + 1


def encode_pairs(
    pairs: Pairs,
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    max_length: int | None = 256,
) -> EncodedPairs:
    """Tokenizes pairs in a tf.data graph and drops the empty and the over-long ones.

    Args:
        pairs: the sentences.
        source_tokenizer: its model reads the source side.
        target_tokenizer: its model reads the target side; may be the same.
        max_length: longest sequence kept on either side, in tokens, with the eos (source) or bos
            (target) that a batch adds; None keeps every length.

    Returns:
        The kept pairs in their order, and the report of what was dropped.

    Raises:
        ValueError: no pair is left, or `max_length` is below 2.
    """
    source_reader = GraphTokenizer(source_tokenizer.model)
    target_reader = (
        source_reader
        if target_tokenizer.model == source_tokenizer.model
        else GraphTokenizer(target_tokenizer.model)
    )
    source = _tokenize(pairs.source, source_reader)
    target = _tokenize(pairs.target, target_reader)
    return _filter(source, target, max_length, pairs.origin)


def _tokenize(texts: Sequence[str], reader: GraphTokenizer) -> RaggedIds:
    def blocks() -> Iterator[list[str]]:
        for start in range(0, len(texts), _BLOCK):
            yield list(texts[start : start + _BLOCK])

    def tokenize(block: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        ids = reader.tokenize(block)
        return ids.flat_values, ids.row_lengths()

    dataset = (
        tf.data.Dataset.from_generator(blocks, output_signature=tf.TensorSpec((None,), tf.string))
        .map(tokenize, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
        .prefetch(tf.data.AUTOTUNE)
    )
    values = [np.zeros(0, np.int32)]
    lengths = [np.zeros(0, np.int64)]
    for block_values, block_lengths in dataset.as_numpy_iterator():
        values.append(block_values)
        lengths.append(block_lengths)
    return RaggedIds(np.concatenate(values), _offsets(np.concatenate(lengths)))


def _filter(
    source: RaggedIds, target: RaggedIds, max_length: int | None, origin: str
) -> EncodedPairs:
    if max_length is not None and max_length < 2:
        raise ValueError(f"max_length must be at least 2 (one piece and eos), got {max_length}")
    for side, ids in (("source", source), ("target", target)):
        if np.isin(ids.values, (PAD_ID, BOS_ID, EOS_ID)).any() or (ids.values < 0).any():
            raise ValueError(
                f"{side} ids must not hold pad, bos, eos ({PAD_ID}, {BOS_ID}, {EOS_ID}) or "
                "negative ids: batching adds them"
            )
    empty = (source.lengths == 0) | (target.lengths == 0)
    longest = np.maximum(source.lengths, target.lengths) + 1
    too_long = ~empty & (longest > (max_length or np.inf))
    keep = ~empty & ~too_long
    report = FilterReport(
        len(source), int(keep.sum()), int(empty.sum()), int(too_long.sum()), max_length
    )
    if not report.kept:
        raise ValueError(f"no pair of {origin} is left: {report}; check the text and max_length")
    return EncodedPairs(_select(source, keep), _select(target, keep), report, np.flatnonzero(keep))


def _select(ids: RaggedIds, keep: npt.NDArray[np.bool_]) -> RaggedIds:
    if keep.all():
        return ids
    lengths = ids.lengths
    return RaggedIds(ids.values[np.repeat(keep, lengths)], _offsets(lengths[keep]))


def _offsets(lengths: Sequence[int] | npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
