"""Slots: characters that stand for spans of a text, such as tags and placeholders, which a model
reads, writes exactly once each and never sees inside.

They are private-use characters of Unicode's last plane but one, each a piece of its own in the
vocabularies of models that are trained with them.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from keras_transformer.text.subwords.accelerators import Accelerator, without_accelerator
from keras_transformer.text.subwords.attributes import Attribute

# More than the spans of nearly all sentences. `letterless` names their range, too.
SLOTS = tuple(map(chr, range(0xFFF80, 0xFFF98)))
# What stand around a term's translation in a source, and in no translation.
TERM_MARKS = ("\U000fff98", "\U000fff99")


@dataclasses.dataclass(frozen=True, eq=False)
class TokenAlignment:
    """How much the tokens of a translation attend to those of its source.

    Attributes:
        source: The text that the model read.
        source_places: Where each of its tokens begins and ends there.
        target: The text that the model wrote.
        target_places: Where each of its tokens begins and ends there.
        weights: float32 `(target tokens, source tokens)`, none negative.
    """

    source: str
    source_places: Sequence[tuple[int, int]]
    target: str
    target_places: Sequence[tuple[int, int]]
    weights: npt.NDArray[np.float32]


# Phrases, each one as its forms.
Required = Sequence[Sequence[str]]


class Lifted(Protocol):
    """A text whose spans were lifted out."""

    @property
    def needs_alignment(self) -> bool:
        """Whether the model reads no slots, so that an alignment says where spans go."""

    @property
    def text(self) -> str:
        """What the model reads: the text with slots in place of spans, or without them."""

    @property
    def places(self) -> Sequence[tuple[int, int]]:
        """Where each span begins and ends in the text as it was."""

    @property
    def lacks_slots(self) -> bool:
        """Whether there are spans or terms without a slot: they are text."""

    @property
    def required(self) -> Required:
        """Phrases that a translation of `text` must hold."""

    @property
    def accelerators(self) -> str:
        """The characters that may mark a keyboard accelerator in such texts; "" for none."""

    @property
    def attributes(self) -> Sequence[Attribute]:
        """The attributes of its tags that are translated apart."""

    def put_back(self, translation: str, alignment: TokenAlignment | None = None) -> str:
        """Returns a translation of `text`, or a piece of one, with the spans in place of slots.

        If spans are put back by alignments, a translation without one has them already.
        """

    def taken_out(self, translation: str) -> str:
        """Returns a translation, or how it begins, with the slots of the spans that it has."""

    def is_kept(self, translation: str, alignment: TokenAlignment | None = None) -> bool:
        """Returns whether a translation of `text` has every span once, in an order that holds:
        `put_back` then has nothing to mend or to guess, and the text lacks no phrase.
        """


Lift = Callable[[str], Lifted]


@dataclasses.dataclass(frozen=True)
class Relifted:
    """A `Lifted` that is another one but for what a subclass says.

    Attributes:
        lifted: The other one.
    """

    lifted: Lifted

    @property
    def needs_alignment(self) -> bool:
        """Whether an alignment says where spans go."""
        return self.lifted.needs_alignment

    @property
    def text(self) -> str:
        """What the model reads."""
        return self.lifted.text

    @property
    def places(self) -> Sequence[tuple[int, int]]:
        """Where each span begins and ends in the text as it was."""
        return self.lifted.places

    @property
    def lacks_slots(self) -> bool:
        """Whether there are spans or terms without a slot."""
        return self.lifted.lacks_slots

    @property
    def required(self) -> Required:
        """The phrases that a translation must hold."""
        return self.lifted.required

    @property
    def accelerators(self) -> str:
        """The characters that may mark a keyboard accelerator."""
        return self.lifted.accelerators

    @property
    def attributes(self) -> Sequence[Attribute]:
        """The attributes of its tags that are translated apart."""
        return self.lifted.attributes

    def put_back(self, translation: str, alignment: TokenAlignment | None = None) -> str:
        """Returns a translation of `text`, or a piece of one, with the spans."""
        return self.lifted.put_back(translation, alignment)

    def taken_out(self, translation: str) -> str:
        """Returns a translation, or how it begins, as the model writes it."""
        return self.lifted.taken_out(translation)

    def is_kept(self, translation: str, alignment: TokenAlignment | None = None) -> bool:
        """Returns whether a translation of `text` has every span once, in an order that holds."""
        return self.lifted.is_kept(translation, alignment)


class AlignedPart(NamedTuple):
    """A part of a text, as a model reads it, and what an alignment puts back."""

    text: str
    lifted: Lifted


class TakenOut(NamedTuple):
    """A text as `masked` returns it, without its accelerator.

    Attributes:
        hidden: The text.
        spans: Its spans.
        accelerator: The accelerator that was taken out of it; None if it has none.
        lifted: The text as it was, without its spans; None if nothing lifts them.
    """

    hidden: str
    spans: list[str]
    accelerator: Accelerator | None = None
    lifted: Lifted | None = None


def taken_out(text: str, lift: Lift | None, *, is_label: bool = False) -> TakenOut:
    """Takes spans and the accelerator out of a text.

    Args:
        text: The text.
        lift: Lifts spans out of it; None for none.
        is_label: As for `without_accelerator`.
    """
    if lift is None:
        return TakenOut(text, [])
    lifted = lift(text)
    hidden, spans = _hidden(text, lifted.places)
    if not lifted.accelerators:
        return TakenOut(hidden, spans, None, lifted)
    hidden, accelerator = without_accelerator(hidden, lifted.accelerators, is_label=is_label)
    return TakenOut(hidden, spans, accelerator, lifted)


def masked(text: str, lift: Lift | None) -> tuple[str, list[str]]:
    """Returns a text with one slot in place of each of its spans, and the spans."""
    return _hidden(text, lift(text).places if lift is not None else ())


def _hidden(text: str, places: Sequence[tuple[int, int]]) -> tuple[str, list[str]]:
    if not places:
        return text, []
    starts, ends = [0, *(end for _, end in places)], [*(start for start, _ in places), len(text)]
    hidden = SLOTS[0].join(text[start:end] for start, end in zip(starts, ends, strict=True))
    return hidden, [text[start:end] for start, end in places]


def unmasked(pieces: Sequence[str], spans: Sequence[str]) -> list[str]:
    """Returns the pieces of a text that was `masked` with its spans."""
    if not spans:
        return list(pieces)
    left = iter(spans)
    return ["".join(next(left) if one == SLOTS[0] else one for one in piece) for piece in pieces]
