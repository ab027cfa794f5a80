"""Sentences of a text, for a model trained on single ones, with the space and the symbols between
them. Needs no TensorFlow.
"""

import itertools
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property

import sentencex

from keras_transformer.text.letterless import (
    Kind,
    carve,
    core_of,
    has_letter,
    is_carried,
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
_LINE_BREAKS = re.compile("([\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+)")
# Where a sentence is halved: after a clause, or else after a word.
_CLAUSE_ENDS = re.compile(r"[,;:،]\s+|[、，；：]\s*|\s[–—-]\s+")
_WORD_ENDS = re.compile(r"\s+")
# How far from the middle, in characters: nearby first, and in a text of many pages not everywhere.
_REACHES = (64, 512, 4096)


class TooManyPartsError(ValueError):
    """A text has more parts than allowed.

    Args:
        most_parts: The most that are allowed.
        most_tokens: The longest part, where longer sentences were halved; None if none was.
    """

    def __init__(self, most_parts: int, most_tokens: int | None = None) -> None:
        parts = "sentences" if most_tokens is None else f"parts of at most {most_tokens} tokens"
        super().__init__(f"the text has more than {most_parts} {parts}: split it.")


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
        return self._lifted[place].put_back(translation) if self._lifted else translation

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
    ) -> "Passage":
        """Returns a text as one part, without what goes around the model."""
        hidden, spans, accelerator, lifted = taken_out(text, lift)
        start, end = core_of(hidden, carried, language=language) if carried else (0, len(hidden))
        parts = [hidden[:start], hidden[start:end], hidden[end:]]
        before, source, behind = unmasked(parts, spans) if spans else parts
        moves = "symbols" in carried
        gaps = before, behind
        known = (text, lifted) if lifted else None
        return cls(
            (source,), gaps, moves_pictures=moves, lift=lift, accelerator=accelerator, known=known
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
            text = self.without_attributes().join(translations[:own])
            values = [self._value(*one) for one in enumerate(translations)][own:]
            return with_values(text, self.attributes, values)
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


def split_sentences(text: str, language: str = LANGUAGE) -> list[str]:
    """Returns the sentences of a text, which joined are the text.

    A line break ends a sentence. A piece without a letter, such as the number of a list's entry,
    belongs to the sentence after it; the space between two sentences belongs to the first.

    Args:
        text: Any text; a blank one is one sentence.
        language: Code of its language (ISO 639-1), for abbreviations and marks; one that the
            library does not know is treated as English.
    """
    lines = (_segments(line, language) for line in _lines(text))
    return [sentence for line in lines for sentence in _with_letters(line)] or [""]


def split_passage(
    text: str,
    lengths_of: Callable[[Sequence[str]], Sequence[int]],
    *,
    most_tokens: int | None = None,
    most_sentences: int = 1,
    most_parts: int | None = None,
    language: str = LANGUAGE,
    carried: Collection[Kind] = (),
    lift: Lift | None = None,
) -> Passage:
    """Takes a text apart into parts that a model can translate.

    Args:
        text: The text.
        lengths_of: Gives the number of tokens of each of several texts.
        most_tokens: Longest part. A longer sentence is halved after a clause, after a word or, if
            there is neither, after a character, until its parts are short enough. No limit if None.
        most_sentences: Most sentences of a line that stay together, if they are short enough.
        most_parts: Most parts of the text; no limit if None.
        language: Code of its language (ISO 639-1), for abbreviations and marks.
        carried: What goes around the model (`letterless`).
        lift: Lifts spans out of texts; none is taken apart.

    Raises:
        TooManyPartsError: The text has more than `most_parts`; raised as soon as they are found.
    """
    whole = text
    text, spans, accelerator, lifted = taken_out(text, lift)
    attributes = _attributes(lifted, lengths_of, most_tokens)
    pieces: list[tuple[str, bool]] = []
    parts = len(attributes)
    halved_to = None
    for line in _lines(text):
        for is_text, run in itertools.groupby(_carved(line, carried, language), lambda one: one[1]):
            sentences = [piece for piece, _ in run]
            if not is_text:
                pieces += [(piece, False) for piece in sentences]
                continue
            lengths = lengths_of(sentences)
            bound = sum(lengths) if most_tokens is None else most_tokens
            for group, tokens in _groups(sentences, lengths, bound, most_sentences):
                for piece in _halved(group, tokens, lengths_of, bound):
                    pieces.append((piece, True))
                    parts += bool(piece.strip())
                    halved_to = most_tokens if piece != group else halved_to
                    if most_parts is not None and parts > most_parts:
                        raise TooManyPartsError(most_parts, halved_to)
    if spans:
        texts = unmasked([piece for piece, _ in pieces], spans)
        pieces = [(piece, is_text) for piece, (_, is_text) in zip(texts, pieces, strict=True)]
    found = _passage(pieces, carried)
    return replace(
        found,
        sources=(*found.sources, *(one.value for one in attributes)),
        gaps=(*found.gaps, *("" for _ in attributes)),
        lift=lift,
        accelerator=accelerator,
        attributes=attributes,
        known=(whole, lifted) if lifted else None,
    )


def _attributes(
    lifted: Lifted | None,
    lengths_of: Callable[[Sequence[str]], Sequence[int]],
    most_tokens: int | None,
) -> tuple[Attribute, ...]:
    """Returns the attributes of a text that are no longer than a part may be."""
    found = lifted.attributes if lifted else ()
    if not found or most_tokens is None:
        return tuple(found)
    lengths = lengths_of([one.value for one in found])
    return tuple(one for one, length in zip(found, lengths, strict=True) if length <= most_tokens)


def _carved(line: str, carried: Collection[Kind], language: str) -> Iterator[tuple[str, bool]]:
    """Yields the sentences of a line and what is between them, each with whether it is text."""

    def is_alone(piece: str, before: str) -> bool:
        # "on 3. 4. 1990" comes apart like sentences.
        is_day = piece.rstrip().endswith(".") and before.rstrip().rstrip(".")[-1:].isdigit()
        return bool(carried) and not is_day and is_carried(piece, carried)

    # "2." is the number of an entry of a list if the line began with one.
    has_dots = True
    for sentence in _with_letters(_segments(line, language), is_alone):
        pieces = [(sentence, True)]
        if carried:
            pieces = carve(sentence, carried, has_dots=has_dots, language=language)
            has_dots = has_dots and not pieces[0][1]
        yield from pieces


def _segments(line: str, language: str) -> list[str]:
    """Returns the sentences of a line, and what looks like one."""
    pieces = sentencex.segment(language, line) if line.strip() else [line]
    # What does not come back whole is not taken apart.
    return pieces if "".join(pieces) == line else [line]


def _lines(text: str) -> list[str]:
    """Returns the lines, each with its line break."""
    parts = [*_LINE_BREAKS.split(text), ""]
    return [line + end for line, end in zip(parts[::2], parts[1::2], strict=True) if line or end]


def _with_letters(
    pieces: Sequence[str], is_alone: Callable[[str, str], bool] = lambda piece, before: False
) -> list[str]:
    """Joins each piece without a letter with the next, or at the end with the one before.

    Args:
        pieces: The sentences of a line.
        is_alone: Takes such a piece and the one before it; tells whether it is joined with none.
    """
    found: list[str] = []
    waiting = before = ""
    for piece in pieces:
        if waiting or has_letter(piece) or not is_alone(piece, before):
            waiting += piece
        else:
            found.append(piece)
        if waiting and has_letter(piece):
            found.append(waiting)
            waiting = ""
        before = piece
    if waiting and found:
        found[-1] += waiting
    return found or [waiting]


def _groups(
    sentences: Sequence[str], lengths: Sequence[int], most_tokens: int, most_sentences: int
) -> Iterator[tuple[str, int | None]]:
    """Yields as many sentences together as allowed, and the length of those that remain single."""
    group: list[str] = []
    tokens = 0
    for sentence, length in zip(sentences, lengths, strict=True):
        if group and (len(group) == most_sentences or tokens + length > most_tokens):
            yield "".join(group), tokens if len(group) == 1 else None
            group, tokens = [], 0
        group.append(sentence)
        tokens += length
    yield "".join(group), tokens if len(group) == 1 else None


def _halved(
    text: str,
    tokens: int | None,
    lengths_of: Callable[[Sequence[str]], Sequence[int]],
    most_tokens: int,
) -> Iterator[str]:
    """Yields the text, which has `length` tokens, in equal parts until each is short enough."""
    if tokens is None:
        tokens = lengths_of([text])[0]
    if tokens <= most_tokens or len(text.strip()) < 2:
        yield text
        return
    middle = _middle(text)
    for half in (text[:middle], text[middle:]):
        # What is much too long by its share of the whole need not be tokenized again.
        share = tokens * len(half) // len(text)
        known = share if share > 2 * most_tokens else None
        yield from _halved(half, known, lengths_of, most_tokens)


def _middle(text: str) -> int:
    """Returns where to halve a text: near its middle, neither half blank."""
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    middle = (start + end) // 2
    # A clause may end anywhere in the middle half; a word that does not is all but endless.
    quarter = (end - start) // 4
    for ends in (_CLAUSE_ENDS, _WORD_ENDS):
        for reach in _REACHES:
            first, last = middle - min(reach, quarter), middle + min(reach, quarter)
            places = [found.end() for found in ends.finditer(text, first, last)]
            if places:
                return min(places, key=lambda place: abs(2 * place - start - end))
            if reach >= quarter:
                break
    return middle


def _passage(pieces: Sequence[tuple[str, bool]], carried: Collection[Kind]) -> Passage:
    """Moves what is around parts of a text into gaps; a blank piece is all space."""
    sources: list[str] = []
    gaps = [""]
    for piece, is_text in pieces:
        source = piece.strip() if is_text else ""
        if not source:
            gaps[-1] += piece
            continue
        before, _, behind = piece.partition(source)
        gaps[-1] += before
        sources.append(source)
        gaps.append(behind)
    if not sources:
        return Passage(("",), (*gaps, ""))
    return Passage(tuple(sources), tuple(gaps), moves_pictures="symbols" in carried)


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in ("W", "F")
