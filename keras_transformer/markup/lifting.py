"""Lifts the spans of a text out of it as slots, and puts them back into its translation."""

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache, partial
from typing import Any, cast

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.markup.nesting import arguments, mended, partners
from keras_transformer.markup.placeholders import BRANCHES
from keras_transformer.markup.profiles import (
    ACCELERATORS,
    ADDRESSES,
    BREAK,
    MADE_UP,
    PART,
    TERM,
    Profile,
    kind_of,
    pattern_of,
)
from keras_transformer.markup.spans import Span, around, find_spans, read_attributes
from keras_transformer.markup.terms import Glossary
from keras_transformer.text.subwords.attributes import Attribute
from keras_transformer.text.subwords.slots import SLOTS, Lift, Lifted, Required, TokenAlignment
from keras_transformer.text.training_text import TrainingText

_NUMBERS = {slot: number for number, slot in enumerate(SLOTS)}
_SLOT = re.compile(f"([{SLOTS[0]}-{SLOTS[-1]}])")
# Scripts that write no spaces, from Thai to Chinese, need none beside a term.
_WORD = re.compile(r"[^\W\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
# Kinds that are words.
_WORDS = (TERM, *ADDRESSES)
_BRANCHES = re.compile(BRANCHES)
# No text holds it.
_STRAY = "\0"
_ENDS_IN_WORD = re.compile(rf"{_WORD.pattern}\Z")


@dataclasses.dataclass(frozen=True, eq=False)
class LiftedText:
    """The `Lifted` of one text.

    Attributes:
        text: The text with slots in place of spans.
        spans: What each slot stands for, in the order of `SLOTS`.
        more: The spans for which there was no slot; they are in `text`.
        gaps: The text before each span that has a slot and behind the last one.
        accelerators: The characters that may mark a keyboard accelerator.
        pattern: What finds spans.
        attributes: The attributes of its tags that are translated apart.
    """

    text: str
    spans: Sequence[Span]
    more: Sequence[Span]
    gaps: Sequence[str]
    accelerators: str
    pattern: re.Pattern[str]
    attributes: Sequence[Attribute] = ()
    needs_alignment = False
    required: Required = ()

    @property
    def places(self) -> list[tuple[int, int]]:
        """Where each span begins and ends in the text as it was; terms are words of it."""
        spans = (*self.spans, *self.more)
        return [(one.start, one.end) for one in spans if one.kind not in (TERM, PART)]

    @property
    def lacks_slots(self) -> bool:
        """Whether there are spans or terms without a slot."""
        return bool(self.more)

    def put_back(self, translation: str, alignment: TokenAlignment | None = None) -> str:
        """Returns a translation of `text`, or a piece of one, with the spans in place of slots.

        Tags that would not nest, and arguments of a format that would be read in another turn, take
        their order in the text, at the places that the translation has for them. Line breaks, and
        tags on their inner side, have the spaces beside them that they have in the text. A term or
        an address is no part of a word. Tags and placeholders that the model has made up are taken
        out.
        """
        said = _SLOT.split(self._without_strays(translation))
        order = [_NUMBERS[slot] for slot in said[1::2]]
        if not all(number < len(self.spans) for number in order):
            return translation
        order = mended(order, self._pairs, self._read_in_turn)
        texts = said[::2]
        for place, number in enumerate(order):
            before, behind = self._spaces[number]
            if before is not None and (place or texts[0]):
                texts[place] = texts[place].rstrip() + before
            if behind is not None and (place + 2 < len(texts) or texts[-1]):
                texts[place + 1] = behind + texts[place + 1].lstrip()
        spans = [*(self.spans[number].written for number in order), ""]
        for place, number in enumerate(order):
            if self._is_word(number):
                before = texts[place] or (spans[place - 1] if place else "")
                texts[place] += _space_between(before, spans[place])
                behind = texts[place + 1] or spans[place + 1]
                texts[place + 1] = _space_between(spans[place], behind) + texts[place + 1]
        return "".join(text + span for text, span in zip(texts, spans, strict=True))

    def taken_out(self, translation: str) -> str:
        """Returns a translation, or how it begins, with the slots of the spans that it has."""
        left: dict[str, list[str]] = {}
        for slot, span in zip(SLOTS, self.spans, strict=False):
            if span.written:
                left.setdefault(span.written, []).append(slot)
        # Of two that begin alike the longer one is meant.
        spans = "|".join(map(re.escape, sorted(left, key=len, reverse=True)))
        if not spans:
            return translation
        return re.sub(spans, lambda found: (left[found[0]] or [found[0]]).pop(0), translation)

    def is_kept(self, translation: str, alignment: TokenAlignment | None = None) -> bool:
        """Returns whether a translation of `text` has every span once, in an order that holds, and
        none that the text lacks, and begins the branches of ICU's messages as the text does.
        """
        order = [_NUMBERS[slot] for slot in _SLOT.findall(translation)]
        is_once = sorted(order) == list(range(len(self.spans)))
        is_once &= self._without_strays(translation) == translation
        more = Counter(one.written for one in self.more)
        more.update(_BRANCHES.findall(self.text))
        others = all(translation.count(text) >= count for text, count in more.items())
        return is_once and others and mended(order, self._pairs, self._read_in_turn) == order

    @lru_cache(maxsize=8)  # noqa: B019  Few are kept, and only for who asks for both parts.
    def _without_strays(self, translation: str) -> str:
        """Returns a translation without the tags and placeholders that `text` has not as text."""
        left = self._as_text.copy()

        def kept(found: re.Match[str]) -> str:
            left[found[0]] -= 1
            is_stray = kind_of(found) in MADE_UP and left[found[0]] < 0
            return _STRAY if is_stray else found[0]

        # With the space before it.
        return re.sub(f" ?{_STRAY}", "", self.pattern.sub(kept, translation))

    def _is_word(self, number: int) -> bool:
        """Returns whether a span stands in the text as a word of its own, which letters beside it
        would change.
        """
        before, behind = self.gaps[number], self.gaps[number + 1]
        is_apart = not (_ENDS_IN_WORD.search(before) or _WORD.match(behind))
        return self.spans[number].kind in _WORDS and is_apart

    @cached_property
    def _as_text(self) -> Counter[str]:
        """The spans that are left in `text`."""
        return Counter(one[0] for one in self.pattern.finditer(self.text))

    @cached_property
    def _pairs(self) -> dict[int, int]:
        return partners(self.spans)

    @cached_property
    def _read_in_turn(self) -> set[int]:
        return arguments(self.spans)

    @cached_property
    def _spaces(self) -> list[tuple[str | None, str | None]]:
        """The space before and behind each span; None where the translation decides."""
        opens, closes = set(self._pairs), set(self._pairs.values())
        found: list[tuple[str | None, str | None]] = []
        for number, span in enumerate(self.spans):
            before, behind = self.gaps[number], self.gaps[number + 1]
            is_break = span.kind == BREAK
            found.append(
                (
                    before[len(before.rstrip()) :] if is_break or number in closes else None,
                    behind[: len(behind) - len(behind.lstrip())]
                    if is_break or number in opens
                    else None,
                )
            )
        return found


def _space_between(before: str, behind: str) -> str:
    return " " if _ENDS_IN_WORD.search(before) and _WORD.match(behind) else ""


def lift(
    text: str,
    profile: Profile = "auto",
    own: Sequence[str] = (),
    glossary: Glossary | None = None,
) -> LiftedText:
    """Lifts the spans of a text out of it.

    Args:
        text: The text.
        profile: Which kinds of spans it may hold.
        own: Regular expressions of further spans.
        glossary: Terms, whose translations are put back in their place; None for none.

    Example:
        >>> lifted = lift("Delete %s?")
        >>> lifted.put_back(lifted.text.replace("Delete", "Löschen:"))
        'Löschen: %s?'
    """
    found = find_spans(text, profile, own, glossary)
    spans, more = found[: len(SLOTS)], found[len(SLOTS) :]
    gaps = around(text, spans)
    slots = [*SLOTS[: len(spans)], ""]
    lifted = "".join(gap + slot for gap, slot in zip(gaps, slots, strict=True))
    marks, pattern = ACCELERATORS.get(profile, ""), pattern_of(profile, tuple(own))
    attributes = read_attributes(found, profile)
    return LiftedText(lifted, spans, more, gaps, marks, pattern, attributes)


def lifter(
    profile: Profile, own: Sequence[str] = (), glossary: Glossary | None = None
) -> Lift | None:
    """Returns what lifts the spans of a profile, and terms; None if it has none.

    Raises:
        ValueError: The profile is unknown, or an expression is not valid.
    """
    pattern_of(profile, tuple(own), glossary)
    if profile == "plain" and not own and glossary is None:
        return None
    return partial(lift, profile=profile, own=own, glossary=glossary)


def with_profile(lift: Lift | None, profile: Profile) -> Lift | None:
    """Returns what lifts the spans of another profile, own ones and terms as `lift` does; to be put
    back by attention if that is None.
    """
    if lift is None:
        return lifter_of(SpecialIds(), None, profile)
    return partial(cast(Callable[..., Lifted], lift), profile=profile)


def lifter_of(
    special_ids: SpecialIds,
    seen: TrainingText | None,
    markup: Profile | None = None,
    glossary: Glossary | None = None,
) -> Lift | None:
    """Returns what lifts spans for a model: by its own profile, unless another one is given.

    A model without slots reads texts without tags, which are put back by its attention, and the
    words of terms.

    Args:
        special_ids: The model's, with its slots.
        seen: What its training lines looked like; None if unknown.
        markup: The profile's name; None for the one that the model was trained with.
        glossary: Terms that slots stand for; None for none.

    Raises:
        ValueError: The profile is unknown.
    """
    own = seen.span_patterns if seen else ()
    profile: Any = markup or (seen and seen.markup) or "plain"
    if not special_ids.slots:
        pattern_of(profile)
        if profile == "plain":
            return None
        # Most models that are opened without a profile need none of it.
        from keras_transformer.markup.alignment.aligned_text import lift_aligned

        return partial(lift_aligned, profile=profile)
    return lifter(profile, () if markup == "plain" else own, glossary)
