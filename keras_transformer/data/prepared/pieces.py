"""Pieces of a corpus: consecutive lines of text, tokenized and distributed over the shards.

A piece is what one process works on at a time. Its file is the intermediate form between text and
shards: an int32 array, `[empty, too long, start of each shard's segment, end]`, then the segments.
A segment is
`[pairs, line in the piece..., source lengths..., target lengths..., source ids, target ids]`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from keras_transformer.data.encoding.id_pairs import (
    EncodedPairs,
    FilterReport,
    RaggedIds,
    kept_pairs,
    kept_texts,
)
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.whole_files import whole_file

_COUNTS = 2


@dataclass(frozen=True)
class PieceSettings:
    """The settings of all pieces of a split.

    Attributes:
        directory: Directory of the piece files.
        lines: Number of lines of each piece except the last.
        source_tokenizer: Model file for the source side.
        target_tokenizer: Model file for the target side.
        max_length: As in `encode_pairs`.
        num_shards: Number of shards to distribute the pairs over.
        seed: Decides which pair goes to which shard.
        is_single: Whether lines are single texts, sources without a target.
    """

    directory: Path
    lines: int
    source_tokenizer: Path
    target_tokenizer: Path
    max_length: int
    num_shards: int
    seed: int
    is_single: bool = False

    def path(self, number: int) -> Path:
        """Returns the file of piece `number`."""
        return self.directory / f"{number:06d}.npy"


def tokenize_piece(settings: PieceSettings, number: int, pairs: Sequence[tuple[str, str]]) -> None:
    """Writes the file of one piece.

    Args:
        settings: How to make pieces.
        number: Number of the piece, from 0.
        pairs: Its sentences.
    """
    encoded = keep_pairs(settings, pairs)
    shards = scatter(len(encoded), settings.num_shards, settings.seed, number)
    segments = [
        _segment(encoded, np.flatnonzero(shards == shard)) for shard in range(settings.num_shards)
    ]
    first = _COUNTS + settings.num_shards + 1
    starts = first + np.cumsum([0, *map(len, segments)])
    head = [encoded.report.empty, encoded.report.too_long, *starts.tolist()]
    with whole_file(settings.path(number)) as partial, partial.open("wb") as file:
        np.save(file, np.concatenate([np.asarray(head, np.int32), *segments]))


def keep_pairs(settings: PieceSettings, pairs: Sequence[tuple[str, str]]) -> EncodedPairs:
    """Tokenizes pairs and leaves out those that are empty or too long."""
    source, target = zip(*pairs, strict=True)
    source_tokenizer = _tokenizer(settings.source_tokenizer)
    if settings.is_single:
        ids = RaggedIds.from_rows(source_tokenizer.encode(source))
        return kept_texts(ids, settings.max_length, source_tokenizer.special_ids)
    return kept_pairs(
        RaggedIds.from_rows(source_tokenizer.encode(source)),
        RaggedIds.from_rows(_tokenizer(settings.target_tokenizer).encode(target)),
        settings.max_length,
        source_tokenizer.special_ids,
    )


def scatter(count: int, num_shards: int, seed: int, number: int) -> npt.NDArray[np.int64]:
    """Draws a shard for each of `count` pairs of piece `number`, nearly equally many per shard."""
    # The raw stream of Philox is the same in every version of numpy.
    key = np.asarray([seed, number], np.uint64)
    noise = np.random.Philox(key=key).random_raw(count + 1)
    ranks = np.argsort(np.argsort(noise[:count], kind="stable"), kind="stable")
    # The shards that get the remainder are drawn too, or the first shards would have more.
    return (ranks + int(noise[count] % np.uint64(num_shards))) % num_shards


def read_segments(settings: PieceSettings, num_pieces: int, shard: int) -> EncodedPairs:
    """Joins one shard's segments of all pieces, in the order of the lines.

    Args:
        settings: The settings that the pieces were made with.
        num_pieces: Number of pieces.
        shard: Number of the shard.
    """
    segments = [_read_segment(settings.path(piece), shard) for piece in range(num_pieces)]
    first_lines = np.arange(num_pieces) * settings.lines
    lines = [first + segment[0] for first, segment in zip(first_lines, segments, strict=True)]
    _, source_lengths, target_lengths, source, target = map(
        np.concatenate, zip(*segments, strict=True)
    )
    kept = len(source_lengths)
    return EncodedPairs(
        RaggedIds.from_lengths(source, source_lengths),
        RaggedIds.from_lengths(target, target_lengths),
        FilterReport(kept, kept, 0, 0),
        np.concatenate(lines),
        _tokenizer(settings.source_tokenizer).special_ids,
    )


def read_dropped(path: Path) -> tuple[int, int]:
    """Returns how many pairs of a piece were dropped: empty, too long."""
    empty, too_long = np.load(path, mmap_mode="r")[:_COUNTS].tolist()
    return empty, too_long


def _read_segment(path: Path, shard: int) -> tuple[npt.NDArray[np.int32], ...]:
    """Returns the lines, the lengths of both sides and the ids of both sides."""
    # Mapped, so that only this segment is read.
    data = np.load(path, mmap_mode="r")
    start, end = data[_COUNTS + shard : _COUNTS + shard + 2]
    segment = np.array(data[start:end])
    pairs = int(segment[0])
    lines, source_lengths, target_lengths = segment[1 : 1 + 3 * pairs].reshape(3, pairs)
    ids = segment[1 + 3 * pairs :]
    source = int(source_lengths.sum())
    return lines, source_lengths, target_lengths, ids[:source], ids[source:]


def _segment(encoded: EncodedPairs, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    source, target = encoded.source.take(rows), encoded.target.take(rows)
    parts = (
        [len(rows)],
        encoded.pair_numbers[rows],
        source.lengths,
        target.lengths,
        source.values,
        target.values,
    )
    return np.concatenate([np.asarray(part, np.int32) for part in parts])


@lru_cache(maxsize=2)
def _tokenizer(path: Path) -> Tokenizer:
    return Tokenizer.load(path)
