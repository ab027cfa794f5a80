"""Translation of texts with any engine: the best translation, n best with scores, streams, in the
order of the texts.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Unpack

from keras_transformer.search.confidence import looks_like_babble
from keras_transformer.search.distinct import as_many_as_kept, filled_up
from keras_transformer.search.keywords import SearchKeywords
from keras_transformer.search.model_limits import IdRows
from keras_transformer.search.options import Candidate, Hypothesis, SearchOptions
from keras_transformer.search.stops import Stops
from keras_transformer.suggestions import suggests_arguments
from keras_transformer.text.letterless import Letterless, without_format
from keras_transformer.translation.engine import tokens_of
from keras_transformer.translation.results import attentions_of, to_hypotheses, with_attention
from keras_transformer.translation.scorer import Asked, TextScorer, plain
from keras_transformer.translation.text_ids import check_texts
from keras_transformer.translation.unknown_words import replace_unknown
from keras_transformer.translation.written import end_text, joined_to_stop, to_stop


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
        letterless: Letterless | None = None,
        **options: Unpack[SearchKeywords],
    ) -> list[str]:
        """Returns the best translation of each text, in order.

        Args:
            texts: The source texts; one without a token gives an empty translation. One that begins
                with a tag such as `>>fra<<` is translated into that language, by a model that knows
                tags (Marian's of several target languages).
            target_prefixes: What each translation begins with, whole words; "" for none.
            replace_unk: Replace each unknown token by the source word that it attends to most.
            letterless: Whether what has no letter is copied around the model ("copy"), translated
                by it ("translate") or either, as the model was trained ("auto"); as the translator
                was opened if None.
            **options: Fields of `SearchOptions`.

        Raises:
            TypeError: `texts` is one string, or holds anything but strings; an option is unknown
                or of the wrong type.
            ValueError: An option is out of range, or a text is longer than `max_source_length`.
            RuntimeError: The translator is closed.
        """
        asked = self._ask(texts, options, letterless, replace_unk=replace_unk)
        prefixes = self._prefix_ids(target_prefixes, asked)
        stops = self._stops(asked.options, replace_unk)
        engine = self._engine_for(asked.begins)
        found = engine.search(
            asked.sources, asked.options, prefixes, with_scores=False, stops=stops
        )
        best = [candidates[:1] for candidates in found]
        if replace_unk:
            translated = [text for [text] in self._replaced(asked, best)]
        elif stops:
            hypotheses = self._ended(asked, prefixes, to_hypotheses(best, self._target, None))
            return [
                joined_to_stop(passage, one)
                for passage, [one] in zip(asked.passages, hypotheses, strict=True)
            ]
        else:
            translated = self._target.decode([candidate.ids for [candidate] in best])
        return [
            passage.join([text]) for passage, text in zip(asked.passages, translated, strict=True)
        ]

    @suggests_arguments
    def translate_n_best(
        self,
        texts: Sequence[str],
        *,
        target_prefixes: Sequence[str] | None = None,
        return_attention: bool = False,
        return_scores: bool = True,
        replace_unk: bool = False,
        letterless: Letterless | None = None,
        **options: Unpack[SearchKeywords],
    ) -> list[list[Hypothesis]]:
        """Returns the best hypotheses of each text, in order, best first; samples in their order.

        Args:
            texts: The source texts; a text without a token has one empty hypothesis of score 0.
            target_prefixes: What each translation begins with, whole words; "" for none; part of
                every hypothesis.
            return_attention: Whether each hypothesis gets its `attention` to the source, of which
                what goes around the model is no part.
            return_scores: Whether scores are wanted. If not, greedy search may be faster, scores
                may be NaN, and `low_confidence` then tells of signs of babble.
            replace_unk: Replace each unknown token by the source word that it attends to most.
            letterless: Whether what has no letter is copied around the model ("copy"), translated
                by it ("translate") or either, as the model was trained ("auto"); as the translator
                was opened if None.
            **options: Fields of `SearchOptions`.

        Returns:
            Hypotheses of each text: texts that differ, with ids and scores of the best tokens that
            spell them. Where texts repeat, what a search with more beams finds stands behind the
            others; fewer than `num_hypotheses` if that has no more, and an empty one of score -inf
            if none is possible. Samples are as they were drawn, and may repeat.

        Raises:
            TypeError: A list of texts is one string, or holds anything but strings; an option is
                unknown or of the wrong type.
            ValueError: An option is out of range, or a text is longer than `max_source_length`.
            RuntimeError: The translator is closed.
        """
        asked = self._ask(texts, options, letterless, replace_unk=replace_unk)
        prefixes = self._prefix_ids(target_prefixes, asked)
        stops = self._stops(asked.options, replace_unk)
        hypotheses = self._distinct(asked, prefixes, stops, return_scores)
        if return_attention:
            hypotheses = with_attention(self._engine, asked.begins, asked.sources, hypotheses)
        if replace_unk:
            hypotheses = [
                [dataclasses.replace(one, text=text) for one, text in zip(own, texts, strict=True)]
                for own, texts in zip(hypotheses, self._replaced(asked, hypotheses), strict=True)
            ]
        return [
            [dataclasses.replace(one, text=joined_to_stop(passage, one)) for one in own]
            if any(passage.layout)
            else own
            for passage, own in zip(asked.passages, hypotheses, strict=True)
        ]

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
            ValueError: An option is out of range, or a source is longer than `max_source_length`,
                or an id is outside its vocabulary.
        """
        engine, chosen, _ = self._between(options)
        rows, stops = self._limit.fit(plain(source_ids)), self._stops(chosen)
        return engine.search(rows, chosen, prefixes, with_scores=return_scores, stops=stops)

    @suggests_arguments
    def translate_stream(
        self,
        text: str,
        *,
        target_prefix: str = "",
        letterless: Letterless | None = None,
        **options: Unpack[SearchKeywords],
    ) -> Iterator[str]:
        """Yields one translation piece by piece, each as soon as it is certain.

        The pieces, joined, are what `translate` returns, but for a translation that cannot be
        ended since the options allow no token any more: `translate` returns "" for it, the stream
        has yielded what it began with. With `early_stopping="exact"` no piece is certain before the
        search ends.

        Args:
            text: The source text.
            target_prefix: What the translation begins with; its pieces are yielded too.
            letterless: Whether what has no letter is copied around the model ("copy"), translated
                by it ("translate") or either, as the model was trained ("auto"); as the translator
                was opened if None.
            **options: Fields of `SearchOptions`, for greedy search or one sample.

        Raises:
            ValueError: More than one hypothesis is asked for, or as for `translate`; raised by the
                call itself, not at the first piece.
            TypeError: A list of texts is one string, or holds anything but strings; an option is
                unknown or of the wrong type.
        """
        # The caller asked for no beams: those of the model's own defaults do not count.
        asked = self._ask([text], {"beam_size": 1, **options}, letterless)
        engine, chosen = self._engine_for(asked.begins), asked.options
        if chosen.beam_size > 1 or chosen.num_hypotheses > 1:
            raise ValueError(
                "translate_stream yields one translation piece by piece, so it needs beam_size 1 "
                f"and num_hypotheses 1, got {chosen.beam_size} and {chosen.num_hypotheses}."
            )
        [source] = asked.sources
        [prefix] = self._prefix_ids([target_prefix], asked) or [[]]
        stops, [before, behind] = self._stops(chosen), asked.passages[0].layout
        tokens = tokens_of(engine, source, chosen, prefix, stops)
        if stops:
            begin = len(asked.begins[0].target) + len(prefix)
            return to_stop(self._target, chosen, tokens, begin, before, behind)
        pieces = self._target.stream(tokens)
        return (piece for piece in itertools.chain([before], pieces, [behind]) if piece)

    def _stops(self, options: SearchOptions, replace_unk: bool = False) -> Stops | None:
        stops = options.stops(self._target.new_stream)
        if stops and replace_unk:
            raise ValueError(
                "replace_unk reads whole translations, of which a stop leaves only the beginning: "
                "leave one of them out."
            )
        return stops

    def _distinct(
        self, asked: Asked, prefixes: IdRows | None, stops: Stops | None, with_scores: bool
    ) -> list[list[Hypothesis]]:
        """Searches; returns hypotheses whose texts differ."""

        def search(
            part: Asked, own: IdRows | None, options: SearchOptions
        ) -> list[list[Hypothesis]]:
            found = self._engine_for(part.begins).search(
                part.sources, options, own, with_scores=with_scores, stops=stops
            )
            return self._ended(part, own, to_hypotheses(found, self._target, self.min_score))

        def search_again(places: Sequence[int], options: SearchOptions) -> list[list[Hypothesis]]:
            own = None if prefixes is None else [prefixes[place] for place in places]
            return search(asked.at(places), own, options)

        found = search(asked, prefixes, as_many_as_kept(asked.options))
        return filled_up(found, asked.options, self._engine.limits.hypothesis, search_again)

    def _ended(
        self, asked: Asked, prefixes: IdRows | None, found: Sequence[Sequence[Hypothesis]]
    ) -> list[list[Hypothesis]]:
        """Returns hypotheses whose texts end before a stop, and what ended each."""
        limits, options = self._engine.limits, self._engine.limits.fit(asked.options)
        ended = []
        for place, (own, begins) in enumerate(zip(found, asked.begins, strict=True)):
            source_length = len(begins.source) + len(asked.sources[place]) + 1
            begin = len(begins.target) + (len(prefixes[place]) if prefixes else 0)
            limit = limits.longest_translation(options, source_length)
            texts = [end_text(one, self._target, options, begin, limit) for one in own]
            ended.append([_judged(one, asked.sources[place], asked.options) for one in texts])
        return ended

    def _replaced(
        self, asked: Asked, found: Sequence[Sequence[Candidate | Hypothesis]]
    ) -> list[list[str]]:
        """Returns the text of each candidate with source words for its unknown tokens."""
        seen = attentions_of(self._engine, asked.begins, asked.sources, found)
        return [
            [
                replace_unknown(
                    one.ids,
                    attention[:-1],
                    without_format(passage.parts[0]),
                    source=self._source.subwords,
                    target=self._target.subwords,
                )
                for one, attention in zip(own, attentions, strict=True)
            ]
            for passage, own, attentions in zip(asked.passages, found, seen, strict=True)
        ]

    def _prefix_ids(self, prefixes: Sequence[str] | None, asked: Asked) -> IdRows | None:
        """Returns the ids of prefixes, without what goes around the model anyway."""
        if prefixes is None:
            return None
        texts = check_texts(prefixes, "target_prefixes")
        if len(texts) == len(asked.passages):
            texts = [one.bare(text) for one, text in zip(asked.passages, texts, strict=True)]
        return self._target.encode(texts)


def _judged(one: Hypothesis, source: Sequence[int], options: SearchOptions) -> Hypothesis:
    """Returns a hypothesis with a judgement of its own where it has no score to be judged by."""
    if not math.isnan(one.log_probability):
        return one
    # A smaller limit than the default was somebody's wish.
    is_cut = one.stop_reason == "length" and options.max_length >= SearchOptions.max_length
    low = looks_like_babble(source, one.ids, is_cut=is_cut)
    return dataclasses.replace(one, low_confidence=low)
