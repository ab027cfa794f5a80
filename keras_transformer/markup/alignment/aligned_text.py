"""Lifts the spans of a text out of it for a model without slots, and puts them back into its
translation by the attention of its tokens.
"""

import dataclasses
import html
import re
import unicodedata
from collections.abc import Sequence
from functools import cached_property, lru_cache

from keras_transformer.markup.alignment.copies import Copies, Unit, units_of
from keras_transformer.markup.alignment.links import Links
from keras_transformer.markup.alignment.placing import Placing, items_of
from keras_transformer.markup.alignment.spacing import Spacing
from keras_transformer.markup.nesting import arguments, partners
from keras_transformer.markup.profiles import ACCELERATORS, BREAK, TAG, Profile
from keras_transformer.markup.spans import Span, around, find_spans, read_attributes
from keras_transformer.markup.tags import ENTITIES, TAGS, parts_words
from keras_transformer.text.subwords.attributes import Attribute
from keras_transformer.text.subwords.slots import Required, TokenAlignment

_ANY_TAG = re.compile(TAGS, re.DOTALL)
_BLANK_ESCAPE = re.compile(r"(?:\\[ntrabfv0])+")
# Code that is longer would be no name to a model.
_MOST_WORDS, _LONGEST = 3, 60


@dataclasses.dataclass(frozen=True, eq=False)
class AlignedText:
    """The `Lifted` of one text for a model that reads no slots.

    Attributes:
        text: The text as the model reads it: without tags, with what stands for a word.
        spans: The spans.
        read: Where each span begins and ends in `text`: at one place if it stands for no word.
        gaps: The text before each span and behind the last one.
        accelerators: The characters that may mark a keyboard accelerator.
        attributes: The attributes of its tags that are translated apart.
    """

    text: str
    spans: Sequence[Span]
    read: Sequence[tuple[int, int]]
    gaps: Sequence[str]
    accelerators: str = ""
    attributes: Sequence[Attribute] = ()
    needs_alignment = True
    lacks_slots = False
    required: Required = ()

    @property
    def places(self) -> list[tuple[int, int]]:
        """Where each span begins and ends in the text as it was."""
        return [(one.start, one.end) for one in self.spans]

    def put_back(self, translation: str, alignment: TokenAlignment | None = None) -> str:
        """Returns a translation of `text` with the spans; without an alignment it has them."""
        return translation if alignment is None else self.aligned(translation, alignment)[0]

    def is_kept(self, translation: str, alignment: TokenAlignment | None = None) -> bool:
        """Returns whether `put_back` neither mends what the model wrote nor guesses a place."""
        return alignment is None or self.aligned(translation, alignment)[1]

    def taken_out(self, translation: str) -> str:
        """Returns a translation, or how it begins, with its spans as the model writes them."""
        for span, (start, end) in zip(self.spans, self.read, strict=True):
            translation = translation.replace(span.text, self.text[start:end], 1)
        return translation

    @lru_cache(maxsize=8)  # noqa: B019  Few are kept, and only for who asks for both parts.
    def aligned(self, translation: str, alignment: TokenAlignment) -> tuple[str, bool]:
        """Returns a translation of `text` with the spans, and whether nothing of what the model
        wrote was mended, and no place guessed.
        """
        links = Links(self.text, self._words, translation, alignment)
        # What went around the model, such as emoji, comes back without it.
        words = {number: place for number, place in self._words.items() if links.has_read(number)}
        copies = Copies(translation, self.text, self.spans, words, links)
        units = units_of(translation, copies, self.spans, links)
        is_in_turn = self._take_turns(units, links)
        lost = sorted(words.keys() - {unit.span for unit in units})
        for number in lost:
            self._insert(number, units, links)
        placing = Placing(units, links)
        order = placing.arranged(items_of(self.read, self._pairs, links))
        text = Spacing(self.spans, self._pairs, self.gaps, self._blanks).text(order, units)
        return text, copies.is_sure and is_in_turn and not lost and placing.is_sure

    def _take_turns(self, units: list[Unit], links: Links) -> bool:
        """Puts arguments of a format in the order of the text; returns whether they had it."""
        said = [unit.span for unit in units if unit.span is not None]
        numbers = [number for number in said if number in self._read_in_turn]
        ordered = iter(sorted(numbers))
        for place, unit in enumerate(units):
            if unit.span in self._read_in_turn:
                number = next(ordered)
                text, source = self.spans[number].text, links.unit_of(number)
                units[place] = unit._replace(text=text, span=number, source=source)
        return numbers == sorted(numbers)

    def _insert(self, number: int, units: list[Unit], links: Links) -> None:
        """Puts a span that the model left out where the words beside it went."""
        source = links.unit_of(number)
        bounds = (0, len(units)), (0, len(links.units))
        place = Placing(units, links).point(source, *bounds)
        before, behind = self.gaps[number][-1:].isspace(), self.gaps[number + 1][:1].isspace()
        last = units[place - 1].text[-1:] if place else ""
        space = " " if place and (before or last.isalnum()) else ""
        units.insert(place, Unit(self.spans[number].text, space, number, source, -1, -1))
        if place + 1 < len(units) and not units[place + 1].space:
            if behind or units[place + 1].text[:1].isalnum():
                units[place + 1] = units[place + 1]._replace(space=" ")

    @cached_property
    def _words(self) -> dict[int, tuple[int, int]]:
        return {n: place for n, place in enumerate(self.read) if place[0] < place[1]}

    @cached_property
    def _blanks(self) -> set[int]:
        """The spans between which and the words beside them no space is needed."""
        return {n for n, span in enumerate(self.spans) if read_as(span) == " "}

    @cached_property
    def _pairs(self) -> dict[int, int]:
        return partners(self.spans)

    @cached_property
    def _read_in_turn(self) -> set[int]:
        return arguments(self.spans)


def lift_aligned(text: str, profile: Profile) -> AlignedText:
    """Lifts the spans of a text out of it, and leaves in it those that stand for words.

    Args:
        text: The text.
        profile: Which kinds of spans it may hold.

    Example:
        >>> lift_aligned("Delete <b>%s</b><br>now &amp; here?", "auto").text
        'Delete %s now & here?'
    """
    found = find_spans(text, profile)
    spans = [span for span in found if not _is_letter(span)]
    spell = _with_letters if len(spans) < len(found) else str
    gaps = around(text, spans)
    read, places, parts = spell(gaps[0]), list[tuple[int, int]](), False
    for span, gap in zip(spans, map(spell, gaps[1:]), strict=True):
        form, start = read_as(span), len(read)
        if form.strip():
            read, parts = _joined(read, form, parts), False
            start = len(read) - len(form)
        else:
            parts = parts or form == " "
            gap = gap if read[-1:].strip() else gap.lstrip()
        places.append((start, len(read)))
        if gap:
            read, parts = _joined(read, gap, parts), False
    if places and places[-1] == (len(read), len(read)):
        read = read.rstrip()
        places = [(min(start, len(read)), min(end, len(read))) for start, end in places]
    marks, attributes = ACCELERATORS.get(profile, ""), read_attributes(spans, profile)
    return AlignedText(read, spans, places, gaps, marks, attributes)


def read_as(span: Span) -> str:
    """Returns what a model reads in the place of a span: "" or " " of one that is no word, the
    space of one that parts words.

    Example:
        >>> [read_as(span) for span in find_spans("<b>a</b><br>&lt;%s&nbsp;b")]
        ['', '', ' ', '<', '%s', ' ']
    """
    text = span.text
    if span.kind == TAG:
        return " " if parts_words(text) else ""
    if span.kind in ("link", "emphasis", "heading", "slot"):
        return ""
    if span.kind == BREAK:
        return " " if _BLANK_ESCAPE.fullmatch(text) else _character(text)
    if span.kind == "entity":
        return _shown(html.unescape(text))
    if span.kind in ("element", "code"):
        inner = html.unescape(_ANY_TAG.sub("", text)) if span.kind == "element" else text.strip("`")
        is_word = len(inner.split()) <= _MOST_WORDS and len(inner) <= _LONGEST
        return _shown(inner.strip()) if is_word else ""
    return text


def _character(escape: str) -> str:
    code = escape[1:]
    if code[0] in "xu":
        return _shown(chr(int(code[1:], 16)))
    return _shown(chr(int(code, 8))) if code.isdigit() else code


def _shown(text: str) -> str:
    """Returns a text; " " if it is blank, "" if it is a sign that goes around models."""
    if not text.strip():
        return " " if text else ""
    kinds = {unicodedata.category(one) for one in text}
    return "" if kinds & {"Cc", "Cf", "Cn", "Co", "Cs", "So"} else text


def _is_letter(span: Span) -> bool:
    """Returns whether a span is a letter of a word that is written in another way."""
    return span.kind == "entity" and html.unescape(span.text).isalnum()


def _with_letters(text: str) -> str:
    return re.sub(ENTITIES, lambda found: html.unescape(found[0]), text)


def _joined(read: str, behind: str, parts: bool) -> str:
    needs_space = parts and read[-1:].strip() and behind[:1].strip()
    return f"{read} {behind}" if needs_space else read + behind
