"""Scores and alignments of given translations with any engine, and the options, languages and
lengths that every question about texts shares.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Unpack

import numpy as np
import numpy.typing as npt

from keras_transformer.config.sentence_marks import Begins, SentenceMarks
from keras_transformer.search.confidence import check_min_score
from keras_transformer.search.keywords import SearchKeywords
from keras_transformer.search.model_limits import IdRows, SourceLimit
from keras_transformer.search.options import (
    Candidate,
    Hypothesis,
    SearchOptions,
    check_defaults,
    search_options,
)
from keras_transformer.suggestions import suggests_arguments
from keras_transformer.text.letterless import (
    Kind,
    Letterless,
    carried_kinds,
    without_format,
)
from keras_transformer.text.sentences import Passage
from keras_transformer.text.training_text import TrainingText
from keras_transformer.translation.engine import TranslationEngine
from keras_transformer.translation.marked import MarkedEngine, read_tags, without_languages
from keras_transformer.translation.results import pad_states, scored, to_hypothesis
from keras_transformer.translation.text_ids import TextIds, check_texts
from keras_transformer.translation.unknown_words import aligned_words, words_in


class TextScorer:
    """The base of `TextTranslator`.

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

    Attributes:
        max_source_length: Most tokens of a source; None if there is no limit.
        training_text: What the model's training lines looked like; None if unknown.
        min_score: Log-probability a token below which a hypothesis has `low_confidence`; None if
            unknown.
        search: Fields of `SearchOptions` that hold where a call gives none, as an imported model
            has them; {} for none.
        marks: The ids before texts, none of a model without any.
        carried: What goes around the model, untranslated.
        unknown_letters: Gives the letters of a text that the vocabulary lacks; None if words of
            these are translated, too.

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
        self._is_marked = bool(self.marks.ids)
        # The same around all texts, unless these choose languages.
        self._begins = None if self.marks.languages else self.marks.begins()
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

    def source_lengths(self, texts: Sequence[str]) -> list[int]:
        """Returns how many tokens each source text has, without eos.

        Raises:
            TypeError: A list of texts is one string, or holds anything but strings; an option is
                unknown or of the wrong type.
        """
        rests = [self.marks.read_tag(text).text for text in check_texts(texts)]
        return [len(ids) for ids in self._source.encode(rests)]

    @suggests_arguments
    def score(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        return_attention: bool = False,
        letterless: Letterless | None = None,
        **options: Unpack[SearchKeywords],
    ) -> list[Hypothesis]:
        """Scores given translations as a search would, but without its constraints.

        Args:
            sources: Source texts.
            targets: A translation of each.
            return_attention: Whether each target gets its `attention` to the source.
            letterless: Whether what has no letter is copied around the model ("copy"), translated
                by it ("translate") or either, as the model was trained ("auto"); as the translator
                was opened if None; what goes around the model in a source is no part of its target
                either, where that has it.
            **options: `length_penalty`, `length_penalty_type` and the languages of `SearchOptions`.

        Returns:
            For each pair the target with its ids, score and log-probability, eos included.

        Raises:
            TypeError: A list of texts is one string, or holds anything but strings; an option is
                unknown or of the wrong type.
            ValueError: The numbers of sources and targets differ, or one is too long for the model.
        """
        asked = self._ask(sources, options, letterless, "sources")
        texts = check_texts(targets, "targets")
        if len(texts) != len(asked.begins):
            raise ValueError(
                f"got {len(texts)} targets for {len(asked.begins)} sources: give one for each."
            )
        rows = self._target.encode(
            [one.bare(text) for one, text in zip(asked.passages, texts, strict=True)]
        )
        target_ids = [
            [*begins.target, *row] for begins, row in zip(asked.begins, rows, strict=True)
        ]
        alignments = self._engine_for(asked.begins).align(asked.sources, target_ids)
        candidates = scored(target_ids, alignments, asked.options)
        return [
            to_hypothesis(
                text,
                one,
                self.min_score,
                alignment.attention if return_attention else None,
            )
            for text, one, alignment in zip(texts, candidates, alignments, strict=True)
        ]

    @suggests_arguments
    def score_ids(
        self, source_ids: IdRows, target_ids: IdRows, **options: Unpack[SearchKeywords]
    ) -> list[Candidate]:
        """Scores given translations as `score` does, from ids without bos and eos.

        Args:
            source_ids: Ids of each source.
            target_ids: Ids of its translation.
            **options: `length_penalty`, `length_penalty_type` and the languages of `SearchOptions`.

        Returns:
            Tuples (ids, score, log_probability) of each target.

        Raises:
            ValueError: The numbers of sources and targets differ, or one is too long for the model,
                or an id is outside its vocabulary.
        """
        engine, chosen, begins = self._between(options)
        targets = [[*begins.target, *row] for row in plain(target_ids)]
        sources = self._limit.fit(plain(source_ids))
        return list(scored(targets, engine.align(sources, targets), chosen))

    def encoder_states(
        self, texts: Sequence[str]
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """Returns the encoder's states of each text, for retrieval or probing.

        Args:
            texts: The texts; each ends in eos, one without a token too.

        Returns:
            States float32 `(batch, source_length, model_dim)`, zeros after a text's end, and a
            mask bool `(batch, source_length)`, True at its tokens, eos included.

        Raises:
            TypeError: A list of texts is one string, or holds anything but strings; an option is
                unknown or of the wrong type.
            ValueError: A text is longer than `max_source_length`.
            RuntimeError: The translator is closed.
        """
        asked = self._ask(texts, {}, "translate")
        rows = self._engine_for(asked.begins).encoder_states(asked.sources)
        return pad_states(rows, self._engine.model_dim)

    def align_words(
        self, text: str, hypothesis: Hypothesis, *, letterless: Letterless | None = None
    ) -> list[tuple[int, int]]:
        """Returns which words of a text the words of its translation come from.

        Args:
            text: The source text.
            hypothesis: Its translation, with `attention`.
            letterless: As for the call that translated it.

        Returns:
            Pairs (source word, target word) in ascending order; words are separated by spaces and
            counted from 0.
        """
        ids, tagged = hypothesis.ids, self.marks.read_tag(text)
        passage = self.passage(tagged.text, letterless)
        [part], [numbers], before = passage.parts, passage.word_numbers(), passage.layout[0]
        words = aligned_words(
            hypothesis.attention,
            ids,
            self._target.special_ids.eos,
            source_words=words_in(without_format(part), self._source.place(part)),
            target_pieces=[
                "" if token in self.marks.ids else spelling
                for token, spelling in zip(ids, self._target.spellings(ids), strict=True)
            ],
        )
        # A tag is a word of the text, if a space follows it, and so is what was carried.
        first = [_whole_words(text) for text in (tagged.tag + passage.gaps[0], before)]
        return [(first[0] + numbers[source], first[1] + target) for source, target in words]

    def passage(
        self, text: str, letterless: Letterless | None = None, *, replace_unk: bool = False
    ) -> Passage:
        """Returns a text as one part, without what goes around the model.

        Args:
            text: The text.
            letterless: Whether what has no letter is copied around the model ("copy"), translated
                by it ("translate") or either, as the model was trained ("auto"); as the translator
                was opened if None.
            replace_unk: Whether unknown words are put where they belong, as `translate` can do.
        """
        passage = Passage.whole(text, self._carried(letterless))
        copies = self.unknown_letters if letterless is None else self._source.unknown_letters
        if replace_unk or copies is None or letterless == "translate":
            return passage
        return dataclasses.replace(passage, unknown_letters=copies)

    def _ask(
        self,
        texts: Sequence[str],
        options: Mapping[str, Any],
        letterless: Letterless | None,
        name: str = "texts",
        *,
        replace_unk: bool = False,
    ) -> "Asked":
        """Returns texts as an engine takes them, each with the marks of its languages."""
        chosen = self.search_options(**options)
        rests = check_texts(texts, name)
        asked = chosen.source_language, chosen.target_language
        if self._begins is not None and asked == (None, None):
            begins = [self._begins] * len(rests)
        else:
            rests, begins = read_tags(self.marks, rests, chosen)
            chosen = without_languages(chosen)
        passages = [self.passage(rest, letterless, replace_unk=replace_unk) for rest in rests]
        sources = self._limit.fit(self._source.encode([one.parts[0] for one in passages]))
        return Asked(chosen, begins, passages, sources)

    def _engine_for(self, begins: Sequence[Begins]) -> TranslationEngine:
        """Returns the engine for rows that go between these marks."""
        return MarkedEngine(self._engine, begins) if self._is_marked else self._engine

    def _carried(self, letterless: Letterless | None) -> frozenset[Kind]:
        """Returns what goes around the model, as a call says, or the translator if None."""
        if letterless is None:
            return self.carried
        known = self.training_text.known_letterless if self.training_text else None
        return carried_kinds(letterless, known, lambda: self._source.has_letters)

    def _between(
        self, options: Mapping[str, Any]
    ) -> tuple[TranslationEngine, SearchOptions, Begins]:
        """Returns the engine for rows of ids in the options' languages, and the marks of these."""
        chosen = self.search_options(**options)
        begins = self.marks.begins(chosen.source_language, chosen.target_language)
        return self._engine_for([begins]), without_languages(chosen), begins


class Asked(NamedTuple):
    """A request of texts: options, marks, texts without tags and with what goes around the model
    apart, ids.
    """

    options: SearchOptions
    begins: list[Begins]
    passages: list[Passage]
    sources: list[list[int]]

    def at(self, places: Sequence[int]) -> "Asked":
        """Returns the request of the texts at some places."""
        return Asked(
            self.options,
            [self.begins[place] for place in places],
            [self.passages[place] for place in places],
            [self.sources[place] for place in places],
        )


def _whole_words(text: str) -> int:
    """Returns how many words a text has, the last one not counted if it goes on behind it."""
    return len(text.split()) - (text[-1:].strip() != "")


def plain(rows: IdRows) -> list[list[int]]:
    """Returns rows of plain integers."""
    return [[int(token) for token in row] for row in rows]
