"""Translates texts with an exported artefact: strings come in, strings or scored hypotheses leave,
in the order of the input.
"""

import dataclasses
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_transformer.artefact.manifest import Manifest
from keras_transformer.runtime.engine import Engine
from keras_transformer.runtime.loop.batches import pad_states
from keras_transformer.runtime.loop.requests import Candidate
from keras_transformer.runtime.onnx_graphs.providers import Provider
from keras_transformer.runtime.streaming import stream_text
from keras_transformer.runtime.tokenizers import TextIds
from keras_transformer.runtime.unknown_words import replace_unknown
from keras_transformer.search.confidence import check_min_score, is_low
from keras_transformer.search.inputs import (
    MAX_SOURCE_LENGTH,
    LongTexts,
    SourceLimit,
    check_texts,
)
from keras_transformer.search.options import Hypothesis, SearchOptions, length_penalty


class OnnxTranslator:
    """Translates with an artefact that `export_onnx` wrote; needs no TensorFlow.

    Any number of threads may share one translator. It is a context manager that closes itself.

    Args:
        directory: The artefact. Its files are checked against the manifest's hashes.
        threads: Threads for the graphs; as many as the process may use cores where None.
        batch_tokens: Most padded source tokens in a batch, counted for every beam or sample; chosen
            for the model's size where None.
        max_cache_bytes: Most memory for the keys and values of what is decoded at once; no limit
            where None. `peak_cache_bytes` tells what they have taken.
        max_source_length: Most tokens of a source, or fewer where the model allows fewer; no limit
            where None.
        long_texts: What becomes of longer sources: "refuse" raises `TooLongError`, which has the
            index; "cut" drops their ends. `SentenceTranslator` splits them instead.
        min_score: Log-probability a token below which a hypothesis has `low_confidence`; the
            artefact's where None.
        providers: onnxruntime's execution providers for the graphs, best first: names, or tuples
            of a name and its options, as onnxruntime takes them; the CPU where None. Others than
            the CPU need an artefact exported with target="portable".

    Attributes:
        manifest: The artefact's contract.
        max_source_length: Most tokens of a source; None where there is no limit.
        training_text: What the model's training lines looked like; None where that is unknown.
        min_score: The threshold of low confidence; None where neither gives one.

    Raises:
        FileNotFoundError: The directory or one of its files is missing.
        ValueError: The manifest or a file is damaged, foreign, or of an unknown version; a provider
            is not there or cannot run the artefact.

    Example:
        >>> translator = OnnxTranslator("exported/demo")  # doctest: +SKIP
        >>> translator.translate(["Hello, how are you?"], beam_size=4)  # doctest: +SKIP
        ['Hola, ¿cómo estás?']
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        threads: int | None = None,
        *,
        batch_tokens: int | None = None,
        max_cache_bytes: int | None = None,
        max_source_length: int | None = MAX_SOURCE_LENGTH,
        long_texts: LongTexts = "refuse",
        min_score: float | None = None,
        providers: Sequence[Provider] | None = None,
    ) -> None:
        check_min_score(min_score)
        path = Path(directory)
        self.manifest = Manifest.read(path)
        learned_positions = self.manifest.config.get("max_positions")
        self._limit = SourceLimit(max_source_length, long_texts, learned_positions)
        self.max_source_length = self._limit.length
        self.training_text = self.manifest.training_text
        self.manifest.verify(path)
        self.min_score = self.manifest.min_score if min_score is None else min_score
        self._source, self._target = (
            TextIds(path, self.manifest, side) for side in ("source", "target")
        )
        self._engine = Engine(
            self.manifest, path, threads, batch_tokens, max_cache_bytes, providers
        )

    @property
    def peak_cache_bytes(self) -> int:
        """Most memory that the keys and values of a batch have taken so far, in bytes."""
        return self._engine.peak_cache_bytes

    def source_lengths(self, texts: Sequence[str]) -> list[int]:
        """Returns how many tokens each source text has, without eos.

        Raises:
            TypeError: As for `translate`.
        """
        return [len(ids) for ids in self._source.encode(check_texts(texts))]

    def close(self) -> None:
        """Frees the graphs. Calls that are running finish; later ones raise RuntimeError."""
        self._engine.close()

    def __enter__(self) -> "OnnxTranslator":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def translate(
        self,
        texts: Sequence[str],
        *,
        target_prefixes: Sequence[str] | None = None,
        replace_unk: bool = False,
        **options: Any,
    ) -> list[str]:
        """Returns the best translation of each text, in order.

        Args:
            texts: The source texts; one that holds no token gives an empty translation.
            target_prefixes: What each translation begins with, whole words; "" for none.
            replace_unk: Put the source word that it looks at most in place of an unknown token.
            **options: Fields of `SearchOptions`.

        Raises:
            TypeError: `texts` is one string, or holds something else than strings; an option is
                unknown or of the wrong type.
            ValueError: An option is out of range, or a text is longer than `max_source_length`.
            RuntimeError: The translator is closed.
        """
        sources = self._encode_sources(texts)
        found = self._engine.search(
            sources,
            SearchOptions(**options),
            self._encode_prefixes(target_prefixes),
            with_scores=False,
        )
        best = [candidates[0].ids for candidates in found]
        if not replace_unk:
            return self._target.decode(best)
        alignments = self._engine.align(sources, best)
        return [
            replace_unknown(
                ids,
                alignment.attention[:-1],
                text,
                source=self._source.processor,
                target=self._target.processor,
            )
            for text, ids, alignment in zip(texts, best, alignments, strict=True)
        ]

    def translate_n_best(
        self,
        texts: Sequence[str],
        *,
        target_prefixes: Sequence[str] | None = None,
        return_attention: bool = False,
        **options: Any,
    ) -> list[list[Hypothesis]]:
        """Returns the best hypotheses of each text, in order, best first; samples in their order.

        Args:
            texts: As for `translate`; a text without a token has one empty hypothesis of score 0.
            target_prefixes: As for `translate`; part of every hypothesis.
            return_attention: Give each hypothesis its `attention` to the source.
            **options: Fields of `SearchOptions`.

        Raises:
            TypeError: As for `translate`.
            ValueError: As for `translate`.
            RuntimeError: As for `translate`.
        """
        sources = self._encode_sources(texts)
        found = self._engine.search(
            sources, SearchOptions(**options), self._encode_prefixes(target_prefixes)
        )
        results = [self._to_text(candidates) for candidates in found]
        return self._with_attention(sources, results) if return_attention else results

    def translate_ids(
        self,
        source_ids: Sequence[Sequence[int]],
        *,
        prefixes: Sequence[Sequence[int]] | None = None,
        return_scores: bool = True,
        **options: Any,
    ) -> list[list[Candidate]]:
        """Does what `translate_n_best` does from token ids to token ids.

        Args:
            source_ids: Ids of each text, without bos and eos.
            prefixes: Ids that each translation begins with; [] for none.
            return_scores: Whether scores are wanted. Without, greedy search is faster and scores
                are not a number.
            **options: Fields of `SearchOptions`.

        Returns:
            For each row its best hypotheses as tuples (ids, score, log_probability).

        Raises:
            ValueError: As for `translate_n_best`, or an id is outside its vocabulary.
        """
        rows = self._limit.fit([[int(token) for token in row] for row in source_ids])
        return self._engine.search(
            rows, SearchOptions(**options), prefixes, with_scores=return_scores
        )

    def translate_stream(
        self, text: str, *, target_prefix: str = "", **options: Any
    ) -> Iterator[str]:
        """Yields one translation piece by piece, each as soon as it is certain.

        The pieces joined are what `translate` returns.

        Args:
            text: The source text.
            target_prefix: What the translation begins with; its pieces are yielded too.
            **options: Fields of `SearchOptions`, for greedy search or one sample.

        Raises:
            ValueError: More than one hypothesis is asked for, or as for `translate`; at once, not
                at the first piece.
            TypeError: As for `translate`.
        """
        chosen = SearchOptions(**options)
        if chosen.beam_size > 1 or chosen.num_hypotheses > 1:
            raise ValueError(
                "translate_stream yields one translation as it comes, so it needs beam_size 1 and "
                f"num_hypotheses 1, got {chosen.beam_size} and {chosen.num_hypotheses}."
            )
        [source] = self._encode_sources([text])
        [prefix] = self._encode_prefixes([target_prefix]) or [[]]
        tokens = self._engine.stream(source, chosen, prefix)
        return stream_text(self._target.processor, tokens, self._target.special)

    def score(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        return_attention: bool = False,
        **options: Any,
    ) -> list[Hypothesis]:
        """Scores given translations as a search would; nothing is forbidden here.

        Args:
            sources: Source texts.
            targets: A translation of each.
            return_attention: Give each its `attention` to the source.
            **options: `length_penalty` and `length_penalty_type` of `SearchOptions`.

        Returns:
            For each pair the target with its ids, score and log-probability, eos included.

        Raises:
            TypeError: As for `translate`.
            ValueError: There are not as many targets as sources, or one is too long for the model.
        """
        chosen = SearchOptions(**options)
        targets = check_texts(targets, "targets")
        source_ids = self._encode_sources(sources, "sources")
        target_ids = self._target.encode(targets)
        results = []
        for text, ids, alignment in zip(
            targets, target_ids, self._engine.align(source_ids, target_ids), strict=True
        ):
            total = float(alignment.log_probabilities.sum(dtype="float64"))
            score = total / length_penalty(len(ids) + 1, chosen)
            attention = alignment.attention if return_attention else None
            low = is_low(ids, total, self.min_score)
            results.append(Hypothesis(text, ids, score, total, attention, low))
        return results

    def encode(self, texts: Sequence[str]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """Returns the encoder's states of each text, for retrieval or probing.

        Args:
            texts: The texts; each ends in eos, one without a token too.

        Returns:
            States float32 `(batch, source_length, model_dim)`, zeros behind a text's end, and a
            mask bool `(batch, source_length)`, True at its tokens, eos included.

        Raises:
            TypeError: As for `translate`.
            ValueError: A text is longer than `max_source_length`.
            RuntimeError: The translator is closed.
        """
        rows = self._engine.encode(self._encode_sources(texts))
        return pad_states(rows, self.manifest.config["model_dim"])

    def _encode_sources(self, texts: Sequence[str], name: str = "texts") -> list[list[int]]:
        return self._limit.fit(self._source.encode(check_texts(texts, name)))

    def _encode_prefixes(self, prefixes: Sequence[str] | None) -> list[list[int]] | None:
        if prefixes is None:
            return None
        return self._target.encode(check_texts(prefixes, "target_prefixes"))

    def _with_attention(
        self, sources: list[list[int]], results: list[list[Hypothesis]]
    ) -> list[list[Hypothesis]]:
        flat = [
            (source, hypothesis.ids)
            for source, found in zip(sources, results, strict=True)
            for hypothesis in found
        ]
        alignments = iter(self._engine.align([s for s, _ in flat], [ids for _, ids in flat]))
        return [
            [dataclasses.replace(one, attention=next(alignments).attention) for one in found]
            for found in results
        ]

    def _to_text(self, candidates: list[Candidate]) -> list[Hypothesis]:
        texts = self._target.decode([found.ids for found in candidates])
        return [
            Hypothesis(
                text,
                found.ids,
                found.score,
                found.log_probability,
                low_confidence=is_low(found.ids, found.log_probability, self.min_score),
            )
            for text, found in zip(texts, candidates, strict=True)
        ]
