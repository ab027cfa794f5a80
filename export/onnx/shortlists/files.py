"""Reads the shortlists of Marian and CTranslate2.

Marian's lexical table, written by extract-lex, has a line `target source probability` for each pair
of pieces; its binary shortlist is written by `marian-conv --shortlist`. CTranslate2's map
(`vmap.txt`) has a line for each source n-gram: its pieces, a tab, and the target pieces.
"""

import os
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from keras_transformer.artefact.shortlist import Shortlist
from keras_transformer.config import TransformerConfig
from keras_transformer.data.sources.files import iter_lines
from keras_transformer.export.inputs import ids_of_every_text
from keras_transformer.export.onnx.shortlists.parallel_text import CANDIDATES, FREQUENT, check_sizes
from keras_transformer.text.tokenizer import Tokenizer

# marian-dev, src/data/shortlist.h: the first of six numbers of 64 bits; the last four are how many
# first ids every text gets, the candidates of a source id, offsets, and candidates in all.
_MAGIC, _HEADER = 0xF11A48D5013417F5, struct.Struct("<6Q")
_EMPTY_WORD = "NULL"
# A file that names fewer pieces of the model than this share was made for another model.
_KNOWN_SHARE = 0.5


def read_shortlist(
    path: str | os.PathLike[str],
    config: TransformerConfig,
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    candidates: int = CANDIDATES,
    frequent: int = FREQUENT,
) -> Shortlist:
    """Reads a shortlist of Marian or CTranslate2; the content tells which of them it is.

    Args:
        path: The file; texts may be packed with gzip.
        config: The model's config.
        source_tokenizer: Its tokenizer of sources.
        target_tokenizer: Its tokenizer of targets.
        candidates: For a lexical table, how many target pieces each source piece gets: the most
            probable ones. The other files fix the number themselves.
        frequent: For a lexical table, how many of the first target ids every text gets, as in
            Marian, whose vocabularies begin with the most frequent pieces.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file is not a shortlist, is damaged or was made for another vocabulary.
    """
    check_sizes(candidates, frequent)
    path = Path(path)
    with open(path, "rb") as stream:
        begin = stream.read(_HEADER.size)
    if begin[:8] == struct.pack("<Q", _MAGIC):
        lists, always = _read_binary(path, config)
        return _shortlist(lists, always, config, path)
    ids = _PieceIds(source_tokenizer, target_tokenizer)
    first = next((line for line in iter_lines(path) if line.strip()), "")
    if first.count("\t") == 1:
        lists, always = _read_map(path, ids, config.source_vocab_size)
    else:
        lists = _read_table(path, ids, config.source_vocab_size, candidates)
        always = set(range(min(frequent, config.target_vocab_size)))
    ids.check(path)
    return _shortlist(lists, always, config, path)


def _shortlist(
    lists: list[list[int]], always: set[int], config: TransformerConfig, path: Path
) -> Shortlist:
    every = (always - config.special_ids.never_generated) | ids_of_every_text(config)
    try:
        return Shortlist.of_lists(lists, every, config.target_vocab_size, path.name)
    except ValueError as error:
        raise ValueError(f"{path} does not fit the model: {error}") from error


class _PieceIds:
    """Finds the ids of pieces, and counts those that the vocabularies lack."""

    def __init__(self, source: Tokenizer, target: Tokenizer) -> None:
        self._sides = {"source": source.subwords, "target": target.subwords}
        self._found: dict[tuple[str, str], int | None] = {}

    def __call__(self, side: str, piece: str) -> int | None:
        """Returns the id of a piece of "source" or "target"; None if it has none."""
        key = (side, piece)
        if key not in self._found:
            self._found[key] = self._sides[side].id_of(piece)
        return self._found[key]

    def check(self, path: Path) -> None:
        """Raises `ValueError` if the vocabularies lack most pieces."""
        missing = [piece for (_, piece), token in self._found.items() if token is None]
        if len(missing) > (1 - _KNOWN_SHARE) * len(self._found) or not self._found:
            raise ValueError(
                f"{path} was made for another vocabulary: {len(missing)} of its "
                f"{len(self._found)} pieces are not in the model's, such as {missing[:3]}. Give "
                "the shortlist of this model."
            )


def _read_table(path: Path, ids: _PieceIds, size: int, candidates: int) -> list[list[int]]:
    """Reads Marian's lexical table; of equal pairs the last one counts."""
    probabilities: list[dict[int, float]] = [{} for _ in range(size)]
    for number, fields in _fields(path):
        try:
            target, source, probability = fields[0], fields[1], float(fields[2])
        except (IndexError, ValueError) as error:
            raise ValueError(
                f"{path}, line {number}: expected `target source probability`, or the pieces of "
                f"a source n-gram, a tab and target pieces, got {' '.join(fields[:4])!r}."
            ) from error
        if _EMPTY_WORD in (source, target):
            continue
        source_id, target_id = ids("source", source), ids("target", target)
        if source_id is not None and target_id is not None:
            probabilities[source_id][target_id] = probability
    return [sorted(row, key=lambda token: -row[token])[:candidates] for row in probabilities]


def _fields(path: Path) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(iter_lines(path), start=1):
        # Only what stands between fields: pieces may hold other white space of Unicode.
        fields = line.replace("\t", " ").split(" ")
        if any(fields):
            yield number, [field for field in fields if field]


def _read_map(path: Path, ids: _PieceIds, size: int) -> tuple[list[list[int]], set[int]]:
    """Reads CTranslate2's map.

    The target pieces of an n-gram become candidates of its first piece: texts with the n-gram get
    them, and so do other texts with that piece.
    """
    lists: list[list[int]] = [[] for _ in range(size)]
    always: set[int] = set()
    for number, line in enumerate(iter_lines(path), start=1):
        if not line:
            continue
        if line.count("\t") != 1:
            raise ValueError(
                f"{path}, line {number}: expected the pieces of a source n-gram, a tab and target "
                f"pieces, got {line[:40]!r}."
            )
        source, targets = line.split("\t")
        found = [ids("target", piece) for piece in targets.split(" ") if piece]
        tokens = [token for token in found if token is not None]
        if not source:
            always.update(tokens)
            continue
        first = ids("source", source.split(" ")[0])
        if first is not None:
            lists[first] += tokens
    return lists, always


def _read_binary(path: Path, config: TransformerConfig) -> tuple[list[list[int]], set[int]]:
    """Reads Marian's binary shortlist, with ids of Marian's vocabulary."""
    held = path.read_bytes()
    if len(held) < _HEADER.size:
        raise ValueError(f"{path} has only {len(held)} bytes, so it is cut short: copy it again.")
    _, _, frequent, _, num_offsets, num_ids = _HEADER.unpack_from(held)
    begin = _HEADER.size + 8 * num_offsets
    if len(held) != begin + 4 * num_ids:
        raise ValueError(
            f"{path} has {len(held)} bytes, but its header says {begin + 4 * num_ids}: copy it "
            "again."
        )
    offsets = np.frombuffer(held, "<u8", num_offsets, _HEADER.size)
    ids = np.frombuffer(held, "<u4", num_ids, begin).astype(np.int64)
    size = num_offsets - 1
    if not 0 <= size <= config.source_vocab_size or offsets[-1] != num_ids:
        raise ValueError(
            f"{path} was made for {size} source ids, but the model has "
            f"{config.source_vocab_size}: give the shortlist of this model."
        )
    if offsets[0] != 0 or (offsets[:-1] > offsets[1:]).any():
        raise ValueError(
            f"{path} is damaged: its offsets must begin with 0 and not decrease; copy it again, or "
            "make it again with `marian-conv --shortlist`."
        )
    lists = [ids[begin:end].tolist() for begin, end in zip(offsets[:-1], offsets[1:], strict=True)]
    more = config.source_vocab_size - size
    return [*lists, *([] for _ in range(more))], set(range(min(frequent, config.target_vocab_size)))
