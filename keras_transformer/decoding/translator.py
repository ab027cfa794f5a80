"""Translates text with a live Keras model: sentences come in, translations leave, each token
decoded once with a key/value cache.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from keras import ops

from keras_transformer.decoding.options import Hypothesis, SearchOptions
from keras_transformer.decoding.search import IMPOSSIBLE, SearchResult, search
from keras_transformer.models import Transformer
from keras_transformer.special_ids import EOS_ID, PAD_ID
from keras_transformer.text.tokenizer import Tokenizer

Tensor = Any


class CachedSteps:
    """A model's decode step as the search wants it, for one batch of encoded sources.

    Args:
        model: The model.
        source_ids: int32 `(batch, source_length)`.
    """

    def __init__(self, model: Transformer, source_ids: Tensor) -> None:
        self.model = model
        self.keep_mask = ops.not_equal(source_ids, PAD_ID)
        self.cross = model.encode(source_ids)

    def start(self, rows: Tensor, length: int) -> Any:
        """Returns empty caches."""
        return self.model.empty_caches(rows, length)

    def grow(self, state: Any, length: int) -> Any:
        """Returns the caches with room for `length` positions."""

        def pad(cache: Tensor) -> Tensor:
            more = length - cache.shape[2]
            return ops.pad(cache, [[0, 0], [0, 0], [0, more], [0, 0]])

        return [(pad(keys), pad(values)) for keys, values in state]

    def step(self, ids: Tensor, step: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Runs the decoder on the newest tokens."""
        return self.model.decode_step(ids, step, self.keep_mask, self.cross, state)


class Translator:
    """Greedy and beam-search translation with a live model.

    Args:
        model: A trained model.
        source_tokenizer: Tokenizer of the source language.
        target_tokenizer: Tokenizer of the target language; the source's where None.
        batch_tokens: Most padded source tokens translated at once, times the beam size.

    Example:
        `Translator(model, tokenizer).translate(["Hello!"], beam_size=4)`
    """

    def __init__(
        self,
        model: Transformer,
        source_tokenizer: Tokenizer,
        target_tokenizer: Tokenizer | None = None,
        batch_tokens: int = 4096,
    ) -> None:
        self.model = model
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer or source_tokenizer
        self.batch_tokens = batch_tokens
        self._searches: dict[SearchOptions, Any] = {}

    def translate(self, texts: Sequence[str], **options: Any) -> list[str]:
        """Translates sentences.

        Args:
            texts: Source sentences; an empty one gives an empty translation.
            **options: Fields of `SearchOptions`.

        Returns:
            The best translation of each, in the order given.
        """
        return [best[0].text for best in self.translate_n_best(texts, **options)]

    def translate_n_best(self, texts: Sequence[str], **options: Any) -> list[list[Hypothesis]]:
        """Translates sentences and returns the `num_hypotheses` best of each, best first."""
        sources = self.source_tokenizer.encode(_checked(texts))
        results = self.translate_ids(sources, **options)
        flat = [ids for sentence in results for ids, _, _ in sentence]
        decoded = iter(self.target_tokenizer.decode(flat))
        return [
            [Hypothesis(next(decoded), ids, score, total) for ids, score, total in sentence]
            for sentence in results
        ]

    def translate_ids(
        self, sources: Sequence[Sequence[int]], **options: Any
    ) -> list[list[tuple[list[int], float, float]]]:
        """Translates token ids.

        Args:
            sources: Ids of each sentence, without begin and end tokens.
            **options: Fields of `SearchOptions`.

        Returns:
            For each sentence its best hypotheses as (ids, score, log-probability).
        """
        chosen = self._fit_positions(sources, SearchOptions(**options))
        results: list[list[tuple[list[int], float, float]]] = [[([], 0.0, 0.0)] for _ in sources]
        for places in self._batches(sources, chosen):
            batch = _pad([[*sources[place], EOS_ID] for place in places])
            found = self._search(chosen)(batch)
            for place, ids, scores, totals in zip(
                places, *(np.array(part) for part in found), strict=True
            ):
                results[place] = [
                    (_strip(row), float(score), float(total))
                    for row, score, total in zip(ids, scores, totals, strict=True)
                    if score > IMPOSSIBLE / 2  # Fewer only where fewer are possible at all.
                ]
        return results

    def _fit_positions(
        self, sources: Sequence[Sequence[int]], options: SearchOptions
    ) -> SearchOptions:
        """Checks the sources against learned positions and limits the output to them."""
        limit = self.model.config.max_positions
        if limit is None:
            return options
        for number, source in enumerate(sources):
            if len(source) + 1 > limit:
                raise ValueError(
                    f"sentence {number} has {len(source) + 1} tokens, more than the model's "
                    f"max_positions ({limit}): split it."
                )
        return dataclasses.replace(options, max_length=min(options.max_length, limit))

    def _batches(
        self, sources: Sequence[Sequence[int]], options: SearchOptions
    ) -> Iterator[list[int]]:
        """Yields places of sentences of like length, within the budget of tokens."""
        order = sorted(
            (place for place, ids in enumerate(sources) if len(ids)),
            key=lambda place: (len(sources[place]), place),
        )
        batch: list[int] = []
        for place in order:
            rows = (len(batch) + 1) * options.beam_size
            if batch and rows * (len(sources[place]) + 1) > self.batch_tokens:
                yield batch
                batch = []
            batch.append(place)
        if batch:
            yield batch

    def _search(self, options: SearchOptions) -> Any:
        """Returns the search as a graph, traced once for each set of options."""
        if options not in self._searches:

            def run(source_ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
                steps = CachedSteps(self.model, source_ids)
                found: SearchResult = search(steps, tf.shape(source_ids)[0], options)
                return found.ids, found.scores, found.log_probabilities

            signature = [tf.TensorSpec((None, None), tf.int32)]
            self._searches[options] = tf.function(run, input_signature=signature)
        return self._searches[options]


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


def _pad(rows: list[list[int]]) -> np.ndarray:
    padded = np.full((len(rows), max(map(len, rows))), PAD_ID, np.int32)
    for row, ids in zip(padded, rows, strict=True):
        row[: len(ids)] = ids
    return padded


def _strip(ids: np.ndarray) -> list[int]:
    """Cuts a hypothesis at its end token or padding."""
    ends = np.flatnonzero((ids == EOS_ID) | (ids == PAD_ID))
    return ids[: ends[0] if len(ends) else None].tolist()
