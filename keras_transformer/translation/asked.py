"""The search for translations of texts that were read: what they must hold, texts that differ,
where they end, and the words and spans that are put back.
"""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import NamedTuple

from keras_transformer.config.sentence_marks import Begins
from keras_transformer.search.confidence import judged
from keras_transformer.search.distinct import as_many_as_kept, filled_up
from keras_transformer.search.model_limits import IdRows
from keras_transformer.search.options import Candidate, Hypothesis, SearchOptions
from keras_transformer.search.phrases import Phrases, that_fit
from keras_transformer.search.stops import Stops
from keras_transformer.text.letterless import without_format
from keras_transformer.text.passage import Passage
from keras_transformer.text.subwords.slots import AlignedPart, Required
from keras_transformer.translation.engine import TranslationEngine
from keras_transformer.translation.marked import MarkedEngine
from keras_transformer.translation.required import search_with_terms
from keras_transformer.translation.results import (
    attentions_of,
    known_texts,
    to_hypotheses,
    with_spans,
)
from keras_transformer.translation.text_ids import TextIds
from keras_transformer.translation.written import end_text, joined_to_stop


class Asked(NamedTuple):
    """A request of texts: options, marks, texts without tags and with what goes around the model
    apart, ids of these and of what translations begin with, what ends them early, the parts whose
    spans an alignment puts back, and the terms of translations.
    """

    options: SearchOptions
    begins: list[Begins]
    passages: list[Passage]
    sources: list[list[int]]
    prefixes: IdRows | None
    stops: Stops | None
    aligned: Sequence[AlignedPart | None]
    required: Sequence[Required]

    def at(self, places: Sequence[int]) -> "Asked":
        """Returns the request of the texts at some places, which ascend."""
        if len(places) == len(self.sources):
            return self
        return self._replace(
            begins=[self.begins[place] for place in places],
            passages=[self.passages[place] for place in places],
            sources=[self.sources[place] for place in places],
            prefixes=self.prefixes and [self.prefixes[place] for place in places],
            aligned=[self.aligned[place] for place in places],
            required=[self.required[place] for place in places],
        )

    def begun(self, place: int) -> int:
        """Returns how many tokens a translation begins with: its marks and its prefix."""
        begun = self.prefixes[place] if self.prefixes else ()
        return len(self.begins[place].target) + len(begun)


@dataclasses.dataclass(frozen=True)
class AskedSearch:
    """Finds translations of texts that were read, with any engine.

    Attributes:
        engine: Translates ids.
        source: Texts and ids of the source side.
        target: Texts and ids of the target side.
        is_marked: Whether the model has ids before texts, such as those of languages.
        min_score: Log-probability a token below which a hypothesis has `low_confidence`; None if
            unknown.
    """

    engine: TranslationEngine
    source: TextIds
    target: TextIds
    is_marked: bool
    min_score: float | None

    def engine_for(self, begins: Sequence[Begins]) -> TranslationEngine:
        """Returns the engine for rows that go between these marks."""
        return MarkedEngine(self.engine, begins) if self.is_marked else self.engine

    def best(self, asked: Asked, replace_unk: bool = False) -> list[str]:
        """Searches; returns the best translation of each text."""
        found = self._search(asked, asked.options, with_scores=False)
        if not (asked.stops or replace_unk or any(asked.aligned)):
            texts = self.target.decode([candidates[0].ids for candidates in found])
            return [one.join([text]) for one, text in zip(asked.passages, texts, strict=True)]
        best = to_hypotheses([candidates[:1] for candidates in found], self.target, None)
        if asked.stops:
            best = self._ended(asked, best)
        best = self.worded(asked, best, replace_unk)
        return [
            joined_to_stop(passage, one)
            for passage, [one] in zip(asked.passages, best, strict=True)
        ]

    def with_attributes(self, asked: Asked, replace_unk: bool = False) -> Asked:
        """Searches; returns a request whose texts have tags with translated attributes."""
        counts = [len(one.attributes) for one in asked.passages]
        if not any(counts):
            return asked
        owners = [place for place, count in enumerate(counts) for _ in range(count)]
        parts = [part for one in asked.passages for part in one.parts[1:]]
        values = Asked(
            dataclasses.replace(asked.options, num_hypotheses=1),
            [asked.begins[owner] for owner in owners],
            [Passage((part,), ("", "")) for part in parts],
            self.source.encode(parts),
            None,
            None,
            [part for one in asked.passages for part in one.aligned[1:]],
            [forms for one in asked.passages for forms in one.required[1:]],
        )
        said = iter(self.best(values, replace_unk))
        return asked._replace(
            passages=[
                one.with_attributes(list(itertools.islice(said, count)))
                for one, count in zip(asked.passages, counts, strict=True)
            ]
        )

    def _search(
        self, asked: Asked, options: SearchOptions, *, with_scores: bool
    ) -> list[list[Candidate]]:
        """Searches for translations with their phrases; where there is none, without terms."""

        def search(places: Sequence[int], phrases: Sequence[Phrases]) -> list[list[Candidate]]:
            part = asked.at(places)
            return self.engine_for(part.begins).search(
                part.sources,
                options,
                part.prefixes,
                with_scores=with_scores,
                stops=part.stops,
                phrases=phrases,
            )

        phrases = self.phrases(asked)
        if not any(asked.required):
            return search(range(len(phrases)), phrases)
        return search_with_terms(search, phrases, self.target.phrases(options.require))

    def phrases(self, asked: Asked) -> list[Phrases]:
        """Returns what each translation must hold: what options require, and the terms of its text
        that the vocabulary can write and that there is room for.
        """
        required = self.target.phrases(asked.options.require)
        found = [required] * len(asked.sources)
        for place, forms in enumerate(asked.required):
            if forms:
                room = self._longest(asked, place) - asked.begun(place)
                found[place] = that_fit(required, self.target.terms(forms), room, asked.options)
        return found

    def _longest(self, asked: Asked, place: int) -> int:
        """Returns the most tokens of a translation, marks and end token included."""
        limits = self.engine.limits
        source_length = len(asked.begins[place].source) + len(asked.sources[place]) + 1
        return limits.longest_translation(limits.fit(asked.options), source_length)

    def distinct(self, asked: Asked, with_scores: bool) -> list[list[Hypothesis]]:
        """Searches; returns hypotheses whose texts differ."""

        def search(places: Sequence[int], options: SearchOptions) -> list[list[Hypothesis]]:
            part = asked.at(places)
            found = self._search(part, options, with_scores=with_scores)
            return self._ended(part, to_hypotheses(found, self.target, self.min_score))

        found = search(range(len(asked.sources)), as_many_as_kept(asked.options))
        return filled_up(found, asked.options, self.engine.limits.hypothesis, search)

    def _ended(self, asked: Asked, found: Sequence[Sequence[Hypothesis]]) -> list[list[Hypothesis]]:
        """Returns hypotheses whose texts end before a stop, and what ended each."""
        ended = []
        for place, own in enumerate(found):
            begun, longest = asked.begun(place), self._longest(asked, place)
            texts = [end_text(one, self.target, asked.options, begun, longest) for one in own]
            ended.append([judged(one, asked.sources[place], asked.options) for one in texts])
        return ended

    def worded(
        self, asked: Asked, found: list[list[Hypothesis]], replace_unk: bool
    ) -> list[list[Hypothesis]]:
        """Returns hypotheses with the spans that their attention puts back and, if that is asked
        for, with source words for unknown tokens.
        """
        sides = self.source, self.target
        if replace_unk:
            seen = attentions_of(self.engine, asked.begins, asked.sources, found)
            read = [without_format(passage.parts[0]) for passage in asked.passages]
            texts = known_texts(read, found, seen, *(side.subwords for side in sides))
            found = [
                [dataclasses.replace(one, text=text) for one, text in zip(own, said, strict=True)]
                for own, said in zip(found, texts, strict=True)
            ]
        if any(asked.aligned):
            begins, sources = asked.begins, asked.sources
            found = with_spans(self.engine, begins, sources, asked.aligned, found, *sides)
        return found
