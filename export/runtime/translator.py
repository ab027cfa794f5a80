"""Translates texts with an exported artefact: strings come in, strings or scored hypotheses leave,
in the order of the input.
"""

import dataclasses
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import sentencepiece

from ..manifest import SPECIAL_IDS, Manifest
from .decoder_step import DecoderStep
from .search import Candidate, SearchOptions, beam_search
from .sessions import open_sessions

_BATCH_TOKENS = 4096


@dataclasses.dataclass(frozen=True)
class Hypothesis:
    """One candidate translation.

    Args:
        text: The translation.
        ids: Its token ids, without bos and eos.
        score: `log_probability` divided by ((5 + length) / 6) ** length_penalty, length counting
            eos.
        log_probability: Sum over the generated tokens, eos included, in nats.
    """

    text: str
    ids: list[int]
    score: float
    log_probability: float


class OnnxTranslator:
    """Translates with an artefact that `export_onnx` wrote; needs no TensorFlow.

    Args:
        directory: The artefact. Its files are checked against the manifest's hashes.
        threads: Threads for the graphs; as many as the process may use cores where None.

    Attributes:
        manifest: The artefact's contract.

    Raises:
        FileNotFoundError: The directory or one of its files is missing.
        ValueError: The manifest or a file is damaged, or of an unknown version.

    Example:
        >>> translator = OnnxTranslator("exported/demo")  # doctest: +SKIP
        >>> translator.translate(["Hello, how are you?"], beam_size=4)  # doctest: +SKIP
        ['Hola, ¿cómo estás?']
    """

    def __init__(self, directory: str | os.PathLike[str], threads: int | None = None) -> None:
        path = Path(directory)
        self.manifest = Manifest.read(path)
        self.manifest.verify(path)
        self._encoder, self._decoder = open_sessions(self.manifest, path, threads)
        self._source, self._target = (
            _load_tokenizer(path / self.manifest.tokenizers[side].file, self.manifest)
            for side in ("source", "target")
        )

    def translate(
        self,
        texts: Sequence[str],
        *,
        beam_size: int = 1,
        length_penalty: float = 0.6,
        max_length: int = 256,
    ) -> list[str]:
        """Returns the best translation of each text, in order.

        Args:
            texts: The source texts; one that holds no token gives an empty translation.
            beam_size: Hypotheses kept per text; 1 is greedy search.
            length_penalty: Exponent of the length penalty, at least 0.
            max_length: Most tokens generated for a text, eos included, and no more than the model's
                learned positions where it has them.

        Raises:
            TypeError: `texts` is one string, or holds something else than strings.
            ValueError: An option is out of range, or a text is longer than the model's positions.
        """
        found = self.translate_n_best(
            texts, beam_size=beam_size, length_penalty=length_penalty, max_length=max_length
        )
        return [hypotheses[0].text for hypotheses in found]

    def translate_n_best(
        self,
        texts: Sequence[str],
        *,
        beam_size: int = 1,
        length_penalty: float = 0.6,
        num_hypotheses: int = 1,
        max_length: int = 256,
    ) -> list[list[Hypothesis]]:
        """Returns the best hypotheses of each text, in order, best first.

        Args:
            texts: As for `translate`; a text without a token has one empty hypothesis of score 0.
            beam_size: As for `translate`.
            length_penalty: As for `translate`.
            num_hypotheses: Hypotheses returned per text, at most `beam_size`.
            max_length: As for `translate`.

        Raises:
            TypeError: As for `translate`.
            ValueError: As for `translate`.
        """
        options = SearchOptions(
            beam_size=beam_size,
            length_penalty=length_penalty,
            num_hypotheses=num_hypotheses,
            max_length=max_length,
        )
        candidates = self._search(self._source.encode(_checked(texts), out_type=int), options)
        return [self._to_text(found) for found in candidates]

    def translate_ids(
        self,
        source_ids: Sequence[Sequence[int]],
        *,
        beam_size: int = 1,
        length_penalty: float = 0.6,
        num_hypotheses: int = 1,
        max_length: int = 256,
    ) -> list[list[Candidate]]:
        """Does what `translate_n_best` does from token ids to token ids.

        Args:
            source_ids: Ids of each text, without bos and eos.
            beam_size: As for `translate_n_best`.
            length_penalty: As for `translate_n_best`.
            num_hypotheses: As for `translate_n_best`.
            max_length: As for `translate_n_best`.

        Returns:
            For each row its best hypotheses as tuples (ids, score, log_probability).

        Raises:
            ValueError: As for `translate_n_best`, or an id is outside the source vocabulary.
        """
        options = SearchOptions(
            beam_size=beam_size,
            length_penalty=length_penalty,
            num_hypotheses=num_hypotheses,
            max_length=max_length,
        )
        rows = [[int(token) for token in row] for row in source_ids]
        size = self._source.get_piece_size()
        for number, row in enumerate(rows):
            wrong = [token for token in row if not 0 <= token < size]
            if wrong:
                raise ValueError(
                    f"source_ids must lie in 0 to {size - 1}, got {wrong[0]} in row {number}."
                )
        return self._search(rows, options)

    def _search(self, rows: list[list[int]], options: SearchOptions) -> list[list[Candidate]]:
        options = self._fit_positions(rows, options)
        found = [[Candidate([], 0.0, 0.0)] for _ in rows]
        graph, special_ids = self.manifest.graphs["decoder"], self.manifest.special_ids
        for batch in _batches(rows, _BATCH_TOKENS // options.beam_size):
            source_ids = self._pad([rows[index] for index in batch])
            step = DecoderStep(self._encoder, self._decoder, graph, source_ids)
            results = beam_search(step, len(batch), options, special_ids)
            for index, candidates in zip(batch, results, strict=True):
                found[index] = candidates
        return found

    def _fit_positions(self, rows: list[list[int]], options: SearchOptions) -> SearchOptions:
        """Checks the sources against learned positions and limits the output to them."""
        limit = self.manifest.config.get("max_positions")
        if limit is None:
            return options
        for number, row in enumerate(rows):
            if len(row) + 1 > limit:
                raise ValueError(
                    f"text {number} has {len(row) + 1} tokens with eos, more than the model's "
                    f"max_positions ({limit}): split it."
                )
        return dataclasses.replace(options, max_length=min(options.max_length, limit))

    def _pad(self, rows: list[list[int]]) -> npt.NDArray[np.int32]:
        """Adds eos and pads on the right: int32 `(batch, source_length)`."""
        ids = self.manifest.special_ids
        padded = np.full((len(rows), max(map(len, rows)) + 1), ids["pad"], np.int32)
        for target, row in zip(padded, rows, strict=True):
            target[: len(row)] = row
            target[len(row)] = ids["eos"]
        return padded

    def _to_text(self, candidates: list[Candidate]) -> list[Hypothesis]:
        special = set(self.manifest.special_ids.values())
        texts = self._target.decode(
            [[token for token in found.ids if token not in special] for found in candidates]
        )
        return [
            Hypothesis(text, found.ids, found.score, found.log_probability)
            for text, found in zip(texts, candidates, strict=True)
        ]


def _checked(texts: Sequence[str]) -> list[str]:
    if isinstance(texts, str | bytes):
        raise TypeError(
            f"texts must be a list of strings, got one {type(texts).__name__}: write [text]."
        )
    texts = list(texts)
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"texts must be strings, got {type(text).__name__} at index {number}.")
    return texts


def _batches(rows: list[list[int]], budget: int) -> Iterator[list[int]]:
    """Yields the numbers of non-empty rows, of similar length together.

    A batch holds at most `budget` padded tokens, eos included, or a single row.
    """
    order = sorted((n for n, row in enumerate(rows) if row), key=lambda n: -len(rows[n]))
    batch: list[int] = []
    for number in order:
        # Longest first: the first row's length is the batch's.
        if batch and (len(batch) + 1) * (len(rows[batch[0]]) + 1) > budget:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def _load_tokenizer(path: Path, manifest: Manifest) -> sentencepiece.SentencePieceProcessor:
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(path.read_bytes())
    found = {name: getattr(processor, f"{name}_id")() for name in SPECIAL_IDS}
    if found != manifest.special_ids:
        raise ValueError(
            f"{path} has the special ids {found}, but the manifest says "
            f"{dict(manifest.special_ids)}: export the model again."
        )
    return processor
