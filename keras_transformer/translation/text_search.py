"""The search for translations of texts with any engine: the best one, n best with scores, streams,
in the order of the texts.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Unpack

from keras_transformer.config.sentence_marks import SentenceMarks
from keras_transformer.search.confidence import check_min_score
from keras_transformer.search.keywords import SearchKeywords, check_defaults, search_options
from keras_transformer.search.model_limits import IdRows, SourceLimit
from keras_transformer.search.options import Hypothesis, SearchOptions
from keras_transformer.search.stops import Stops
from keras_transformer.suggestions import suggests_arguments
from keras_transformer.text.letterless import Kind, Letterless, carried_kinds
from keras_transformer.text.passage import Passage
from keras_transformer.text.subwords.attributes import that_fit
from keras_transformer.text.subwords.slots import AlignedPart, Lift, Required
from keras_transformer.text.training_text import TrainingText
from keras_transformer.translation.asked import Asked, AskedSearch
from keras_transformer.translation.engine import TranslationEngine, tokens_of
from keras_transformer.translation.marked import read_tags, without_languages
from keras_transformer.translation.results import in_passage, with_attention
from keras_transformer.translation.text_ids import TextIds, check_texts
from keras_transformer.translation.written import to_stop


class TextSearch:
    """Finds translations of texts: the base of `TextTranslator`.

    Args:
        engine: Translates ids.
        source: Texts and ids of the source side.
        target: Texts and ids of the target side.
        limit: What to do with sources that are too long.
        marks: The model's ids before texts, such as those of languages; counted by no
            limit. None for none.
        training_text: What the model's training lines looked like; None if unknown.
        min_score: Log-probability a token below which a hypothesis has `low_confidence`; None if
            unknown.
        search: Fields of `SearchOptions` that hold where a call gives none, as an imported model
            has them; None for none.
        letterless: What happens to what has no letter, as for `carried_kinds`, and to words in
            letters that the vocabulary lacks: they go around the model unless all is translated.
        lift: Lifts spans such as tags out of texts, as slots that the vocabulary has, or to be put
            back by attention: translations have each of them once. None for none.

    Attributes:
        max_source_length: Most tokens of a source; None if there is no limit.
        training_text: As the argument.
        min_score: As the argument.
        search: As the argument; {} for none.
        marks: The ids before texts, none of a model without any.
        carried: What goes around the model, untranslated.
        unknown_letters: Gives the letters of a text that the vocabulary lacks; None if words of
            these are translated, too.
        lift: As the argument.

    Raises:
        ValueError: `min_score` is not a mean of log-probabilities, or `search` or `letterless` is
            not valid.
    """

    def __init__(
        self,
        engine: TranslationEngine,
        source: TextIds,
        target: TextIds,
        limit: SourceLimit,
        marks: SentenceMarks | None = None,
        *,
        training_text: TrainingText | None = None,
        min_score: float | None = None,
        search: Mapping[str, Any] | None = None,
        letterless: Letterless = "auto",
        lift: Lift | None = None,
    ) -> None:
        check_min_score(min_score)
        self.search = check_defaults(search or {})
        self.max_source_length = limit.length
        self.training_text = training_text
        self.min_score = min_score
        self._engine = engine
        self._source, self._target = source, target
        self._limit = limit
        self.marks = marks or SentenceMarks()
        self._search = AskedSearch(engine, source, target, bool(self.marks.ids), min_score)
        # The same around all texts, unless these choose languages.
        self._begins = None if self.marks.languages else self.marks.begins()
        self.lift = lift
        self.carried = self._carried(letterless)
        self.unknown_letters = None if letterless == "translate" else source.unknown_letters

    @suggests_arguments
    def search_options(self, **options: Unpack[SearchKeywords]) -> SearchOptions:
        """Returns a search's options: these, else the model's own, else the defaults.

        Raises:
            TypeError: An option is unknown or of the wrong type.
            ValueError: An option is out of range.
        """
        return search_options(self.search, options)

    @suggests_arguments
    def translate(
        self,
        texts: Sequence[str],
        *,
        target_prefixes: Sequence[str] | None = None,
        replace_unk: bool = False,
        letterless: Letterless | None = None,
        aligned: Sequence[AlignedPart | None] | None = None,
        required: Sequence[Required] = (),
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
            aligned: The parts that the texts are, if spans were lifted out of them already.
            required: Their terms, phrases that translations hold if they can; () for none.
            **options: Fields of `SearchOptions`.

        Raises:
            TypeError: `texts` is one string, or holds anything but strings; an option is unknown
                or of the wrong type.
            ValueError: An option is out of range, or a text is longer than `max_source_length`.
            RuntimeError: The translator is closed.
        """
        asked = self._ask(
            texts,
            options,
            letterless,
            target_prefixes,
            replace_unk=replace_unk,
            aligned=aligned,
            required=required,
        )
        return self._search.best(self._search.with_attributes(asked, replace_unk), replace_unk)

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
        aligned: Sequence[AlignedPart | None] | None = None,
        required: Sequence[Required] = (),
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
            letterless: As for `translate`.
            aligned: As for `translate`.
            required: As for `translate`.
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
        asked = self._ask(
            texts,
            options,
            letterless,
            target_prefixes,
            replace_unk=replace_unk,
            aligned=aligned,
            required=required,
        )
        asked = self._search.with_attributes(asked, replace_unk)
        hypotheses = self._search.distinct(asked, return_scores)
        if return_attention:
            hypotheses = with_attention(self._engine, asked.begins, asked.sources, hypotheses)
        hypotheses = self._search.worded(asked, hypotheses, replace_unk)
        return [
            [in_passage(passage, one) for one in own]
            if passage.lift or any(passage.layout)
            else own
            for passage, own in zip(asked.passages, hypotheses, strict=True)
        ]

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
        has yielded what it began with. Attributes that are translated, too, come before the first
        piece. With `early_stopping="exact"` no piece is certain before the
        search ends, and neither is one of a text whose spans an alignment puts back.

        Args:
            text: The source text.
            target_prefix: What the translation begins with; its pieces are yielded too.
            letterless: As for `translate`.
            **options: Fields of `SearchOptions`, for greedy search or one sample.

        Raises:
            ValueError: More than one hypothesis is asked for, or as for `translate`; raised by the
                call itself, not at the first piece.
            TypeError: A list of texts is one string, or holds anything but strings; an option is
                unknown or of the wrong type.
        """
        # The caller asked for no beams: those of the model's own defaults do not count.
        asked = self._ask([text], {"beam_size": 1, **options}, letterless, [target_prefix])
        engine, chosen = self._search.engine_for(asked.begins), asked.options
        if chosen.beam_size > 1 or chosen.num_hypotheses > 1:
            raise ValueError(
                "translate_stream yields one translation piece by piece, so it needs beam_size 1 "
                f"and num_hypotheses 1, got {chosen.beam_size} and {chosen.num_hypotheses}."
            )
        asked = self._search.with_attributes(asked)
        if any(asked.aligned):
            return filter(None, self._search.best(asked))
        [source], [prefix], [passage] = asked.sources, asked.prefixes or [[]], asked.passages
        before, behind = passage.layout
        [phrases] = self._search.phrases(asked)
        tokens = tokens_of(engine, source, chosen, prefix, asked.stops, phrases)
        if asked.stops:
            pieces = to_stop(self._target, chosen, tokens, asked.begun(0), before, behind)
            return (passage.put_back(0, piece) for piece in pieces)
        pieces = (passage.put_back(0, piece) for piece in self._target.stream(tokens))
        return (piece for piece in itertools.chain([before], pieces, [behind]) if piece)

    def passage(
        self,
        text: str,
        letterless: Letterless | None = None,
        *,
        replace_unk: bool = False,
        lifts: bool = True,
        attributes: bool = False,
    ) -> Passage:
        """Returns a text as one part, without what goes around the model.

        Args:
            text: The text.
            letterless: Whether what has no letter is copied around the model ("copy"), translated
                by it ("translate") or either, as the model was trained ("auto"); as the translator
                was opened if None.
            replace_unk: Whether unknown words are put where they belong, as `translate` can do.
            lifts: Whether spans are lifted out of it.
            attributes: Whether attributes of its tags that people read are further parts.
        """
        lift = self.lift if lifts else None
        fitting = partial(that_fit, lengths_of=self._lengths, most_tokens=self.max_source_length)
        passage = Passage.whole(
            text, self._carried(letterless), lift=lift, fitting=fitting if attributes else None
        )
        copies = self.unknown_letters if letterless is None else self._source.unknown_letters
        if replace_unk or copies is None or letterless == "translate":
            return passage
        return dataclasses.replace(passage, unknown_letters=copies)

    def _ask(
        self,
        texts: Sequence[str],
        options: Mapping[str, Any],
        letterless: Letterless | None,
        target_prefixes: Sequence[str] | None = None,
        name: str = "texts",
        *,
        replace_unk: bool = False,
        aligned: Sequence[AlignedPart | None] | None = None,
        required: Sequence[Required] = (),
    ) -> Asked:
        """Returns texts as an engine takes them, each with the marks of its languages."""
        chosen = self._target.with_bans(self.search_options(**options))
        rests = check_texts(texts, name)
        asked = chosen.source_language, chosen.target_language
        if self._begins is not None and asked == (None, None):
            begins = [self._begins] * len(rests)
        else:
            rests, begins = read_tags(self.marks, rests, chosen)
            chosen = without_languages(chosen)
        passages = [
            self.passage(
                rest,
                letterless,
                replace_unk=replace_unk,
                lifts=aligned is None,
                attributes=aligned is None and not chosen.require,
            )
            for rest in rests
        ]
        if aligned is None:
            aligned = [one.aligned[0] for one in passages]
            required = [one.required[0] for one in passages]
        sources = self._limit.fit(self._source.encode([one.parts[0] for one in passages]))
        prefixes = self._prefix_ids(target_prefixes, passages)
        stops = self._stops(chosen, replace_unk)
        return Asked(chosen, begins, passages, sources, prefixes, stops, aligned, required)

    def _lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(ids) for ids in self._source.encode(texts)]

    def _carried(self, letterless: Letterless | None) -> frozenset[Kind]:
        """Returns what goes around the model, as a call says, or the translator if None."""
        if letterless is None:
            return self.carried
        known = self.training_text.known_letterless if self.training_text else None
        return carried_kinds(letterless, known, lambda: self._source.has_letters)

    def _stops(self, options: SearchOptions, replace_unk: bool = False) -> Stops | None:
        stops = options.stops(self._target.new_stream)
        if stops and replace_unk:
            raise ValueError(
                "replace_unk reads whole translations, of which a stop leaves only the beginning: "
                "leave one of them out."
            )
        return stops

    def _prefix_ids(
        self, prefixes: Sequence[str] | None, passages: Sequence[Passage]
    ) -> IdRows | None:
        """Returns the ids of prefixes, without what goes around the model anyway."""
        if prefixes is None:
            return None
        texts = check_texts(prefixes, "target_prefixes")
        if len(texts) == len(passages):
            texts = [one.bare(text) for one, text in zip(passages, texts, strict=True)]
        return self._target.encode(texts)
