"""Translates text with any engine: takes texts and returns translations or scored hypotheses, in
the same order.
"""

from collections.abc import Iterator, Sequence
from typing import Unpack

from keras_transformer.search.inputs import check_texts
from keras_transformer.search.keywords import SearchKeywords
from keras_transformer.search.model_limits import IdRows
from keras_transformer.search.options import Candidate, Hypothesis
from keras_transformer.suggestions import suggests_arguments
from keras_transformer.translation.results import attentions_of, to_hypotheses
from keras_transformer.translation.scorer import TextScorer, plain
from keras_transformer.translation.unknown_words import replace_unknown


class TextTranslator(TextScorer):
    """The base of `Translator` and `OnnxTranslator`, which have an engine of their own each.

    Takes the arguments of `TextScorer` and has its attributes.
    """

    @suggests_arguments
    def translate(
        self,
        texts: Sequence[str],
        *,
        target_prefixes: Sequence[str] | None = None,
        replace_unk: bool = False,
        **options: Unpack[SearchKeywords],
    ) -> list[str]:
        """Returns the best translation of each text, in order.

        Args:
            texts: The source texts; one without a token gives an empty translation. One that begins
                with a tag such as `>>fra<<` is translated into that language, by a model that knows
                tags (Marian's of several target languages).
            target_prefixes: What each translation begins with, whole words; "" for none.
            replace_unk: Replace each unknown token by the source word that it attends to most.
            **options: Fields of `SearchOptions`.

        Raises:
            TypeError: `texts` is one string, or holds anything but strings; an option is unknown
                or of the wrong type.
            ValueError: An option is out of range, or a text is longer than `max_source_length`.
            RuntimeError: The translator is closed.
        """
        asked = self._ask(texts, options)
        prefixes = self._prefix_ids(target_prefixes)
        found = asked.engine.search(asked.sources, asked.options, prefixes, with_scores=False)
        if not replace_unk:
            return self._target.decode([candidates[0].ids for candidates in found])
        best = [candidates[:1] for candidates in found]
        return [
            replace_unknown(
                candidate.ids,
                attention[:-1],
                text,
                source=self._source.subwords,
                target=self._target.subwords,
            )
            for text, [candidate], [attention] in zip(
                asked.texts,
                best,
                attentions_of(self._engine, asked.begins, asked.sources, best),
                strict=True,
            )
        ]

    @suggests_arguments
    def translate_n_best(
        self,
        texts: Sequence[str],
        *,
        target_prefixes: Sequence[str] | None = None,
        return_attention: bool = False,
        **options: Unpack[SearchKeywords],
    ) -> list[list[Hypothesis]]:
        """Returns the best hypotheses of each text, in order, best first; samples in their order.

        Args:
            texts: As for `translate`; a text without a token has one empty hypothesis of score 0.
            target_prefixes: As for `translate`; part of every hypothesis.
            return_attention: Whether each hypothesis gets its `attention` to the source.
            **options: Fields of `SearchOptions`.

        Returns:
            Hypotheses of each text: fewer than `num_hypotheses` if fewer are possible, and an
            empty one of score -inf if none is.

        Raises:
            TypeError: As for `translate`.
            ValueError: As for `translate`.
            RuntimeError: As for `translate`.
        """
        asked = self._ask(texts, options)
        prefixes = self._prefix_ids(target_prefixes)
        found = asked.engine.search(asked.sources, asked.options, prefixes)
        seen = None
        if return_attention:
            seen = attentions_of(self._engine, asked.begins, asked.sources, found)
        return to_hypotheses(found, self._target, self.min_score, seen)

    @suggests_arguments
    def translate_ids(
        self,
        source_ids: IdRows,
        *,
        prefixes: IdRows | None = None,
        return_scores: bool = True,
        **options: Unpack[SearchKeywords],
    ) -> list[list[Candidate]]:
        """Translates as `translate_n_best` does, from token ids to token ids.

        Args:
            source_ids: Ids of each text, without bos and eos.
            prefixes: Ids that each translation begins with; [] for none.
            return_scores: Whether scores are wanted. If not, greedy search may be faster and
                scores may be NaN.
            **options: Fields of `SearchOptions`.

        Returns:
            For each row its best hypotheses as tuples (ids, score, log_probability).

        Raises:
            ValueError: As for `translate_n_best`, or an id is outside its vocabulary.
        """
        engine, chosen, _ = self._between(options)
        rows = self._limit.fit(plain(source_ids))
        return engine.search(rows, chosen, prefixes, with_scores=return_scores)

    @suggests_arguments
    def translate_stream(
        self, text: str, *, target_prefix: str = "", **options: Unpack[SearchKeywords]
    ) -> Iterator[str]:
        """Yields one translation piece by piece, each as soon as it is certain.

        The pieces, joined, are what `translate` returns, but for a translation that cannot be
        ended since the options allow no token any more: `translate` returns "" for it, the stream
        has yielded what it began with. With `early_stopping="exact"` no piece is certain before the
        search ends.

        Args:
            text: The source text.
            target_prefix: What the translation begins with; its pieces are yielded too.
            **options: Fields of `SearchOptions`, for greedy search or one sample.

        Raises:
            ValueError: More than one hypothesis is asked for, or as for `translate`; raised by the
                call itself, not at the first piece.
            TypeError: As for `translate`.
        """
        # A model's own beams are no wish of the caller's.
        asked = self._ask([text], {"beam_size": 1, **options})
        engine, chosen = asked.engine, asked.options
        if chosen.beam_size > 1 or chosen.num_hypotheses > 1:
            raise ValueError(
                "translate_stream yields one translation piece by piece, so it needs beam_size 1 "
                f"and num_hypotheses 1, got {chosen.beam_size} and {chosen.num_hypotheses}."
            )
        [source] = asked.sources
        [prefix] = self._prefix_ids([target_prefix]) or [[]]
        return self._target.stream(engine.stream(source, chosen, prefix))

    def _prefix_ids(self, prefixes: Sequence[str] | None) -> IdRows | None:
        if prefixes is None:
            return None
        return self._target.encode(check_texts(prefixes, "target_prefixes"))
