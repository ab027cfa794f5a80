"""Translates text with a live Keras model: sentences come in, translations leave, each token
decoded once with a key/value cache.
"""

import dataclasses
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.decoding.batches import batches, pad
from keras_transformer.decoding.cached_steps import CachedSteps
from keras_transformer.decoding.constraints import IMPOSSIBLE
from keras_transformer.decoding.hypotheses import Sentences
from keras_transformer.decoding.scoring import TeacherForcing
from keras_transformer.decoding.search import search
from keras_transformer.models import Transformer
from keras_transformer.search.confidence import check_min_score, is_low
from keras_transformer.search.inputs import (
    MAX_SOURCE_LENGTH,
    LongTexts,
    SourceLimit,
    check_prefixes,
    check_texts,
    check_token_ids,
)
from keras_transformer.search.options import Hypothesis, LengthPenaltyType, SearchOptions
from keras_transformer.search.options import length_penalty as penalty_of
from keras_transformer.search.random_numbers import fresh_seed, uniforms
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.text.training_text import TrainingText

Tensor = Any
Found = tuple[list[int], float, float]


class Translator:
    """Greedy search, beam search and sampling with a live model.

    Args:
        model: A trained model.
        source_tokenizer: Tokenizer of the source language.
        target_tokenizer: Tokenizer of the target language; the source's where None.
        batch_tokens: Most padded source tokens translated at once, times the hypotheses that are
            followed for each sentence.
        max_source_length: Most tokens of a source, or fewer where the model allows fewer; no limit
            where None.
        long_texts: What becomes of longer sources: "refuse" raises `TooLongError`, which has the
            index; "cut" drops their ends. `SentenceTranslator` splits them instead.
        training_text: What the model's training lines looked like, for `SentenceTranslator`; None
            where that is unknown.
        min_score: Log-probability a token below which a hypothesis has `low_confidence`; unknown
            where None.

    Attributes:
        max_source_length: Most tokens of a source; None where there is no limit.
        min_score: As given.

    Example:
        `Translator(model, tokenizer).translate(["Hello!"], beam_size=4)`
    """

    def __init__(
        self,
        model: Transformer,
        source_tokenizer: Tokenizer,
        target_tokenizer: Tokenizer | None = None,
        batch_tokens: int = 4096,
        *,
        max_source_length: int | None = MAX_SOURCE_LENGTH,
        long_texts: LongTexts = "refuse",
        training_text: TrainingText | None = None,
        min_score: float | None = None,
    ) -> None:
        check_min_score(min_score)
        self.min_score = min_score
        self.model = model
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer or source_tokenizer
        self.batch_tokens = batch_tokens
        self._limit = SourceLimit(max_source_length, long_texts, model.config.max_positions)
        self.max_source_length = self._limit.length
        self.training_text = training_text
        self._searches: dict[tuple[Any, ...], Any] = {}
        self._teacher_forcing = TeacherForcing(model, batch_tokens)

    def source_lengths(self, texts: Sequence[str]) -> list[int]:
        """Returns how many tokens each source text has, without eos."""
        return [len(ids) for ids in self.source_tokenizer.encode(check_texts(texts))]

    def translate(
        self, texts: Sequence[str], *, target_prefixes: Sequence[str] | None = None, **options: Any
    ) -> list[str]:
        """Translates sentences.

        Args:
            texts: Source sentences; an empty one gives an empty translation.
            target_prefixes: What each translation begins with, whole words; "" for none.
            **options: Fields of `SearchOptions`.

        Returns:
            The best translation of each, in the order given.
        """
        found = self.translate_n_best(texts, target_prefixes=target_prefixes, **options)
        return [best[0].text for best in found]

    def translate_n_best(
        self,
        texts: Sequence[str],
        *,
        target_prefixes: Sequence[str] | None = None,
        return_attention: bool = False,
        **options: Any,
    ) -> list[list[Hypothesis]]:
        """Translates sentences and returns the `num_hypotheses` best of each, best first.

        Args:
            texts: As for `translate`.
            target_prefixes: As for `translate`; part of every translation's text and ids.
            return_attention: Give each hypothesis its `attention` to the source.
            **options: Fields of `SearchOptions`.

        Returns:
            As `translate_ids`, with texts. Samples come in the order of their ranks.
        """
        sources = self._limit.fit(self.source_tokenizer.encode(check_texts(texts)))
        prefixes = None
        if target_prefixes is not None:
            prefixes = self.target_tokenizer.encode(check_texts(target_prefixes, "target_prefixes"))
        results = self.translate_ids(sources, prefixes=prefixes, **options)
        flat = [ids for sentence in results for ids, _, _ in sentence]
        decoded = iter(self.target_tokenizer.decode(flat))
        attentions: Iterator[Any] = iter([None] * len(flat))
        if return_attention:
            repeated = [ids for ids, found in zip(sources, results, strict=True) for _ in found]
            attentions = (seen for _, seen in self._teacher_forcing.align(repeated, flat))
        return [
            [
                Hypothesis(
                    next(decoded),
                    ids,
                    score,
                    total,
                    next(attentions),
                    is_low(ids, total, self.min_score),
                )
                for ids, score, total in sentence
            ]
            for sentence in results
        ]

    def translate_ids(
        self,
        sources: Sequence[Sequence[int]],
        *,
        prefixes: Sequence[Sequence[int]] | None = None,
        **options: Any,
    ) -> list[list[Found]]:
        """Translates token ids.

        Args:
            sources: Ids of each sentence, without begin and end tokens. One without any gives an
                empty translation, whatever its prefix.
            prefixes: Ids that each translation begins with; [] for none.
            **options: Fields of `SearchOptions`.

        Returns:
            For each sentence its best hypotheses as (ids, score, log-probability): fewer than
            `num_hypotheses` where fewer are possible, one empty one with score -inf where none is.

        Raises:
            ValueError: An option, an id or a prefix is out of range, or a source too long.
            TypeError: An option is of the wrong type or unknown.
        """
        sources = self._limit.fit(sources)
        chosen = self._fit_positions(SearchOptions(**options))
        vocab_size, special = self.model.config.target_vocab_size, self.model.config.special_ids
        check_token_ids(chosen, vocab_size, special)
        limits = [chosen.limit(len(source) + 1) for source in sources]
        none: list[list[int]] = [[] for _ in sources]
        prefixes = none if prefixes is None else prefixes
        prefixes = check_prefixes(prefixes, limits, vocab_size, special)
        if chosen.sample and chosen.seed is None:
            chosen = dataclasses.replace(chosen, seed=fresh_seed())
        results: list[list[Found]] = [[([], 0.0, 0.0)] for _ in sources]
        lengths = {place: len(source) + 1 for place, source in enumerate(sources) if len(source)}
        for places in batches(lengths, self.batch_tokens, chosen.rows_per_sentence):
            source_ids = pad([[*sources[place], special.eos] for place in places], special.pad)
            given = _given(places, chosen, limits, prefixes)
            found = self._search(chosen, given)({"source_ids": source_ids, **given})
            for place, row in zip(places, _rows(found, special), strict=True):
                results[place] = row or [([], -math.inf, -math.inf)]
        return results

    def score(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        length_penalty: float = SearchOptions.length_penalty,
        length_penalty_type: LengthPenaltyType = SearchOptions.length_penalty_type,
    ) -> list[Hypothesis]:
        """Scores given translations as a search would; nothing is forbidden here.

        Args:
            sources: Source sentences.
            targets: A translation of each.
            length_penalty: As in `SearchOptions`.
            length_penalty_type: As in `SearchOptions`.

        Returns:
            For each pair the target with its ids, score and log-probability, end token included.

        Raises:
            ValueError: There are not as many targets as sources, or one is longer than learned
                positions allow.
        """
        sources, targets = check_texts(sources, "sources"), check_texts(targets, "targets")
        found = self.score_ids(
            self.source_tokenizer.encode(sources),
            self.target_tokenizer.encode(targets),
            length_penalty=length_penalty,
            length_penalty_type=length_penalty_type,
        )
        return [
            Hypothesis(text, ids, score, total, low_confidence=is_low(ids, total, self.min_score))
            for text, (ids, score, total) in zip(targets, found, strict=True)
        ]

    def score_ids(
        self,
        sources: Sequence[Sequence[int]],
        targets: Sequence[Sequence[int]],
        *,
        length_penalty: float = SearchOptions.length_penalty,
        length_penalty_type: LengthPenaltyType = SearchOptions.length_penalty_type,
    ) -> list[Found]:
        """Scores given translations as `score` does, from ids without begin and end tokens.

        Returns:
            (ids, score, log-probability) of each target.
        """
        options = SearchOptions(
            length_penalty=length_penalty, length_penalty_type=length_penalty_type
        )
        if len(sources) != len(targets):
            raise ValueError(
                f"got {len(targets)} targets for {len(sources)} sources: give one for each."
            )
        self._check_positions(sources, "sentence")
        self._check_positions(targets, "target")
        found = self._teacher_forcing.align(sources, targets)
        return [
            (list(target), total / penalty_of(len(target) + 1, options), total)
            for target, (total, _) in zip(targets, found, strict=True)
        ]

    def _check_positions(self, rows: Sequence[Sequence[int]], name: str) -> None:
        """Checks rows of ids, to which an end token comes, against learned positions."""
        limit = self.model.config.max_positions
        for number, row in enumerate(rows):
            if limit is not None and len(row) + 1 > limit:
                raise ValueError(
                    f"{name} {number} has {len(row) + 1} tokens, more than the model's "
                    f"max_positions ({limit}): split it."
                )

    def _fit_positions(self, options: SearchOptions) -> SearchOptions:
        """Limits the output to learned positions."""
        limit = self.model.config.max_positions
        if limit is None or limit >= options.max_length:
            return options
        return dataclasses.replace(options, max_length=limit)

    def _search(self, options: SearchOptions, names: Iterable[str]) -> Any:
        """Returns the search as a graph, traced once for each set of options and inputs."""
        # Only the random numbers, an input, depend on the seed.
        options = dataclasses.replace(options, seed=None)
        key = (options, *names)
        if key not in self._searches:

            def run(inputs: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
                steps = CachedSteps(self.model, inputs["source_ids"], self.model.config.special_ids)
                batch = tf.shape(inputs["source_ids"])[0]
                given = {name: part for name, part in inputs.items() if name != "source_ids"}
                found = search(steps, batch, options, Sentences(**given))
                return found.ids, found.scores, found.log_probabilities

            samples = (options.num_hypotheses, options.max_length)
            inputs = {
                "source_ids": tf.TensorSpec((None, None), tf.int32),
                "limits": tf.TensorSpec((None,), tf.int32),
                "prefixes": tf.TensorSpec((None, None), tf.int32),
                "uniforms": tf.TensorSpec((None, *samples), tf.float64),
            }
            signature = {name: inputs[name] for name in ("source_ids", *names)}
            self._searches[key] = tf.function(run, input_signature=[signature])
        return self._searches[key]


def _given(
    places: list[int],
    options: SearchOptions,
    limits: list[int],
    prefixes: list[list[int]],
) -> dict[str, np.ndarray]:
    """What the search of a batch takes beside its source: only what the options ask for."""
    given: dict[str, np.ndarray] = {}
    if options.max_length_ratio is not None:
        given["limits"] = np.array([limits[place] for place in places], np.int32)
    if any(prefixes):
        # A column of -1 at the end, so that there is one where no sentence here has a prefix.
        given["prefixes"] = pad([[*prefixes[place], -1] for place in places], -1)
    if options.sample and options.seed is not None:
        given["uniforms"] = np.array(
            [
                [
                    uniforms(options.seed, place, rank, options.max_length)
                    for rank in range(options.num_hypotheses)
                ]
                for place in places
            ]
        )
    return given


def _rows(found: tuple[Tensor, Tensor, Tensor], special_ids: SpecialIds) -> Iterator[list[Found]]:
    """Yields the possible hypotheses of each sentence of a batch."""
    for sentence in zip(*(np.array(part) for part in found), strict=True):
        yield [
            (_strip(ids, special_ids), float(score), float(total))
            for ids, score, total in zip(*sentence, strict=True)
            if score > IMPOSSIBLE / 2
        ]


def _strip(ids: np.ndarray, special_ids: SpecialIds) -> list[int]:
    """Cuts a hypothesis at its end token or padding."""
    ends = np.flatnonzero((ids == special_ids.eos) | (ids == special_ids.pad))
    return ids[: ends[0] if len(ends) else None].tolist()
