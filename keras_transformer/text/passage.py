"""A text taken apart into what is translated and what stands between, and put together again. Needs
no TensorFlow.
"""

import itertools
import unicodedata
from collections.abc import Callable, Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property

from keras_transformer.text.letterless import (
    Kind,
    core_of,
    without_format,
    without_pictures,
    without_unknown,
)
from keras_transformer.text.subwords.accelerators import Accelerator
from keras_transformer.text.subwords.attributes import Attribute, with_values
from keras_transformer.text.subwords.slots import (
    TERM_MARKS,
    AlignedPart,
    Lift,
    Lifted,
    Required,
    masked,
    taken_out,
    unmasked,
)

LANGUAGE = "en"
UnknownLetters = Callable[[str], AbstractSet[str]]


@dataclass(frozen=True)
class Passage:
    """A text taken apart; gaps and sources, in turn, are the text.

    Attributes:
        sources: What is translated, without surrounding space; one that is empty if the text has
            nothing to translate; behind them what is translated of attributes.
        gaps: What stands before each of them and after the last one: space, line breaks, and what
            goes around the model.
        lead: What stood before all that and is no text, such as the tag of a language.
        moves_pictures: Whether emoji inside a source go around the model, too, and then stand
            behind its translation.
        unknown_letters: Gives the letters of a text that the model's vocabulary lacks: words of
            such letters alone go around the model as emoji do, those that begin a source before
            its translation. None if none do.
        lift: Lifts out of each source the spans that its translation keeps; None for none.
        accelerator: The keyboard accelerator that was taken out of the text; None if it has none.
        attributes: The attributes whose values are the last sources.
        known: A source of which is known what `lift` makes of it.
        written: Attributes that are translated already, and the values that tags get.
    """

    sources: tuple[str, ...]
    gaps: tuple[str, ...]
    lead: str = ""
    moves_pictures: bool = False
    unknown_letters: UnknownLetters | None = field(default=None, compare=False, repr=False)
    lift: Lift | None = field(default=None, compare=False, repr=False)
    accelerator: Accelerator | None = None
    attributes: tuple[Attribute, ...] = ()
    known: tuple[str, Lifted] | None = field(default=None, compare=False, repr=False)
    written: tuple[Sequence[Attribute], Sequence[str]] = ((), ())

    @property
    def starts(self) -> list[int]:
        """Where each source begins in the text, in characters."""
        own = self.sources[: len(self.sources) - len(self.attributes)]
        sizes = [len(gap) + len(one) for gap, one in zip(self.gaps, own, strict=False)]
        behind = itertools.accumulate(sizes)
        lead = len(self.lead)
        starts = [lead + end - len(one) for end, one in zip(behind, own, strict=True)]
        return [*starts, *(lead + one.place for one in self.attributes)]

    def without_attributes(self) -> "Passage":
        """Returns the text whose attributes stay as they are."""
        if not self.attributes:
            return self
        count = len(self.sources) - len(self.attributes)
        sources, gaps = self.sources[:count], self.gaps[: count + 1]
        return replace(self, sources=sources, gaps=gaps, attributes=())

    def with_attributes(self, translations: Sequence[str]) -> "Passage":
        """Returns the text without the parts that are attributes, whose translations are given:
        tags have them wherever they are put back.
        """
        first = len(self.sources) - len(self.attributes)
        values = [self._value(place, one) for place, one in enumerate(translations, first)]
        bare, written = self.without_attributes(), (self.attributes, values)
        gaps = tuple(with_values(gap, *written) for gap in bare.gaps)
        return replace(bare, gaps=gaps, written=written)

    @property
    def parts(self) -> tuple[str, ...]:
        """What the model reads of each source."""
        return tuple(part for _, part, _ in self._moved)

    @property
    def aligned(self) -> list[AlignedPart | None]:
        """The parts with spans that an alignment puts back; None for others."""
        if not self._lifted:
            return [None] * len(self.sources)
        return [
            AlignedPart(part, lifted) if lifted.needs_alignment and lifted.places else None
            for part, lifted in zip(self.parts, self._lifted, strict=True)
        ]

    @property
    def required(self) -> list[Required]:
        """The phrases that the translation of each part must hold."""
        if not self._lifted:
            return [()] * len(self.sources)
        return [one.required for one in self._lifted]

    @property
    def layout(self) -> tuple[str, ...]:
        """What stands before each translation and after the last one."""
        moved = [
            [self.put_back(place, one) for one in around]
            for place, around in enumerate(self._moved)
        ]
        behind = ("", *(last for _, _, last in moved))
        before = (*(first for first, _, _ in moved), "")
        return tuple(map("".join, zip(behind, self.gaps, before, strict=True)))

    def put_back(self, place: int, translation: str) -> str:
        """Returns the translation of a part, or a piece of it, with the spans of its source."""
        if not self._lifted:
            return translation
        whole = self._lifted[place].put_back(translation)
        return with_values(whole, *self.written) if self.written[0] else whole

    def is_kept(self, place: int, translation: str) -> bool:
        """Returns whether the translation of a part has every span and term of its source."""
        if not self._lifted:
            return True
        before, _, behind = self._moved[place]
        return self._lifted[place].is_kept(before + translation + behind)

    @cached_property
    def _lifted(self) -> list[Lifted]:
        if self.lift is None:
            return []
        text, lifted = self.known or ("", None)
        return [lifted if lifted and one == text else self.lift(one) for one in self.sources]

    @property
    def _read(self) -> Sequence[str]:
        return [one.text for one in self._lifted] if self._lifted else self.sources

    @cached_property
    def _moved(self) -> list[tuple[str, str, str]]:
        return list(map(self._taken, self._read))

    def _taken(self, source: str) -> tuple[str, str, str]:
        """Returns what the model reads of a source, between what goes around it."""
        before = behind = pictures = ""
        if self.unknown_letters is not None:
            unknown = self.unknown_letters(source)
            before, source, behind = without_unknown(source, unknown)
        if self.moves_pictures:
            source, pictures = without_pictures(source)
        return before, source, pictures + behind

    def word_numbers(self) -> list[list[int]]:
        """Returns for each word of each part which word of its source it is."""
        found: list[list[int]] = []
        for place, source in enumerate(self._read):
            numbers, number, is_beside = list[int](), 0, False
            for word in source.split():
                # A span may be several words; a term's translation is of the word before it.
                own = 0 if is_beside else len(self.put_back(place, word).split())
                count = len(without_format(self._taken(f" {word}")[1]).split())
                numbers += [number if own else max(number - 1, 0)] * count
                number += own
                opened, closed = map(word.rfind, TERM_MARKS)
                is_beside = opened > closed or (is_beside and closed < 0)
            found.append(numbers)
        return found

    @classmethod
    def whole(
        cls,
        text: str,
        carried: Collection[Kind] = (),
        language: str = LANGUAGE,
        lift: Lift | None = None,
        fitting: Callable[[Sequence[Attribute]], tuple[Attribute, ...]] | None = None,
    ) -> "Passage":
        """Returns a text as one part, without what goes around the model.

        Args:
            text: The text.
            carried: What goes around the model (`letterless`).
            language: Code of its language (ISO 639-1), for abbreviations and marks.
            lift: Lifts spans out of it; None for none.
            fitting: Chooses the attributes that are translated; None for none.
        """
        hidden, spans, accelerator, lifted = taken_out(text, lift)
        start, end = core_of(hidden, carried, language=language) if carried else (0, len(hidden))
        parts = [hidden[:start], hidden[start:end], hidden[end:]]
        before, source, behind = unmasked(parts, spans) if spans else parts
        moves = "symbols" in carried
        attributes = fitting(lifted.attributes) if fitting and lifted and lifted.attributes else ()
        return cls(
            (source, *(one.value for one in attributes)),
            (before, behind, *("" for _ in attributes)),
            moves_pictures=moves,
            lift=lift,
            accelerator=accelerator,
            attributes=attributes,
            known=(text, lifted) if lifted else None,
        )

    def bare(self, translation: str) -> str:
        """Returns a translation of the whole text, or how it begins, without what goes around the
        model, and with slots in place of the first part's spans.
        """
        if self.attributes:
            return self.without_attributes().bare(translation)
        before, behind = self.layout[0], self.layout[-1]
        translation = translation.removeprefix(before) if before.strip() else translation
        translation = translation.removesuffix(behind) if behind.strip() else translation
        return self._lifted[0].taken_out(translation) if self._lifted else translation

    def join(self, translations: Sequence[str]) -> str:
        """Returns the translated text, in the layout of the source.

        Args:
            translations: One of each part.

        Raises:
            ValueError: There are not as many translations as parts.
        """
        if self.attributes:
            own = len(self.sources) - len(self.attributes)
            return self.with_attributes(translations[own:]).join(translations[:own])
        translations = [self.put_back(place, one) for place, one in enumerate(translations)]
        gaps = self.gaps_between(translations)
        text = gaps[0] + "".join(map("".join, zip(translations, gaps[1:], strict=True)))
        if self.accelerator is None:
            return text
        hidden, spans = masked(text, self.lift)
        return "".join(unmasked([self.accelerator.put_into(hidden)], spans))

    def _value(self, place: int, translation: str) -> str:
        before, _, behind = self._moved[place]
        return self.put_back(place, before + translation + behind)

    def gaps_between(self, translations: Sequence[str]) -> list[str]:
        """Returns what stands before each translation and after the last one; see `gap_before`.

        Raises:
            ValueError: There are not as many translations as parts.
        """
        if len(translations) != len(self.sources):
            raise ValueError(f"got {len(translations)} translations for {len(self.sources)} parts.")
        gaps = []
        said = ""
        layout = self.layout
        for gap, translation in zip(layout[:-1], translations, strict=True):
            gaps.append(gap_before(translation, gap, said))
            said = translation or gaps[-1] or said
        return [*gaps, layout[-1]]


def gap_before(translation: str, gap: str, said: str) -> str:
    """Returns the space before a part's translation.

    Where the source has no space between two parts, as in Chinese, the translation gets one unless
    its own script is as wide.

    Args:
        translation: The part's translation, or how it begins.
        gap: The space before the part itself.
        said: The translation so far, or how it ends; "" at the beginning.
    """
    return gap if gap or not said or not translation or _is_wide(said[-1]) else " "


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in ("W", "F")
