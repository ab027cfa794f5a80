"""Capitals by rule: a text in capitals is translated as a sentence, and its translation written in
capitals, for models that know few such texts.
"""

import dataclasses
import re
from collections.abc import Sequence
from functools import partial
from typing import Literal, get_args

from keras_transformer.config.checks import check_choice
from keras_transformer.markup.lifting import with_profile
from keras_transformer.markup.profiles import Profile
from keras_transformer.markup.spans import find_spans
from keras_transformer.text.subwords.attributes import Attribute
from keras_transformer.text.subwords.slots import (
    Lift,
    Lifted,
    Relifted,
    Required,
    TokenAlignment,
    masked,
    unmasked,
)
from keras_transformer.text.training_text import TrainingText, in_capitals

Casing = Literal["auto", "keep", "recase"]
_BEGINNING = re.compile(r"(?:\A|[.!?…][^\w\s.!?…]*\s)[\W_]*\w?")


@dataclasses.dataclass(frozen=True)
class WholeText:
    """The `Lifted` of a text out of which nothing is lifted.

    Attributes:
        text: The text.
    """

    text: str
    places: Sequence[tuple[int, int]] = ()
    accelerators: str = ""
    needs_alignment: bool = False
    lacks_slots: bool = False
    required: Required = ()
    attributes: Sequence[Attribute] = ()

    def put_back(self, translation: str, alignment: TokenAlignment | None = None) -> str:
        """Returns the translation."""
        return translation

    def taken_out(self, translation: str) -> str:
        """Returns the translation."""
        return translation

    def is_kept(self, translation: str, alignment: TokenAlignment | None = None) -> bool:
        """Returns True: there is nothing to keep."""
        return True


@dataclasses.dataclass(frozen=True)
class RecasedText(Relifted):
    """The `Lifted` of a text in capitals; its spans keep their letters.

    Attributes:
        lift: What lifted its spans; None if nothing did.
    """

    lift: Lift | None

    @property
    def text(self) -> str:
        """The text as a sentence, with slots in place of spans."""
        return recased(self.lifted.text)

    def put_back(self, translation: str, alignment: TokenAlignment | None = None) -> str:
        """Returns a translation of `text`, or a piece of one, in capitals, with the spans."""
        if not self.lifted.needs_alignment:
            return self.lifted.put_back(translation.upper())
        # An alignment is of the letters that the model wrote; "SS" of "ß" has other places.
        found = self.lifted.put_back(translation, alignment and _to_capitals(alignment))
        said, spans = masked(found, self.lift)
        return "".join(unmasked([said.upper()], spans))

    def taken_out(self, translation: str) -> str:
        """Returns a translation, or how it begins, as a sentence, with slots for its spans."""
        bare = self.lifted.taken_out(translation)
        return recased(bare) if bare.isupper() else bare

    def is_kept(self, translation: str, alignment: TokenAlignment | None = None) -> bool:
        """Returns whether a translation of `text` has every span once, in an order that holds."""
        return self.lifted.is_kept(translation, alignment and _to_capitals(alignment))


def _to_capitals(alignment: TokenAlignment) -> TokenAlignment:
    """Returns the alignment of a source as it was before it was recased."""
    source = alignment.source.upper()
    is_as_long = len(source) == len(alignment.source)
    return dataclasses.replace(alignment, source=source) if is_as_long else alignment


def lifted_by(lift: Lift | None, text: str, profile: Profile | None = None) -> Lifted:
    """Returns a text without its spans, by another profile if one is given; whole by None."""
    lift = lift if profile is None else with_profile(lift, profile)
    return WholeText(text) if lift is None else lift(text)


def recased(text: str) -> str:
    """Returns a text in capitals as sentences are written.

    Example:
        >>> recased("DELETE IT? YES.")
        'Delete it? Yes.'
    """
    return _BEGINNING.sub(lambda found: found[0].upper(), text.lower())


def recases(casing: Casing, seen: TrainingText | None) -> bool:
    """Returns whether a model's texts in capitals are recased.

    Args:
        casing: "auto" if fewer than one in a hundred of the model's training lines were in
            capitals, or no record says what they were; "recase" whatever they were; "keep" for
            texts as they are.
        seen: What they looked like; None if unknown, as for imported models. A record of an earlier
            version, which did not count capitals, is of a model that reads texts as they are.

    Raises:
        ValueError: `casing` is none of these.
    """
    check_choice("casing", casing, get_args(Casing))
    reads_capitals = seen is not None and seen.knows_capitals is not False
    return casing == "recase" or (casing == "auto" and not reads_capitals)


def recasing(lift: Lift | None, casing: Casing, seen: TrainingText | None) -> Lift | None:
    """Returns what lifts spans out of texts and recases those in capitals, if a model needs it.

    Args:
        lift: Lifts spans out of texts; None for none.
        casing: As for `recases`.
        seen: Likewise.

    Raises:
        ValueError: `casing` is none of these.
    """
    return partial(_lifted, lift=lift) if recases(casing, seen) else lift


def _lifted(text: str, lift: Lift | None, profile: Profile | None = None) -> Lifted:
    lifted = lifted_by(lift, text, profile)
    if not in_capitals(lifted.text):
        return lifted
    # A span that is read as text would lose its letters.
    has_spans = any(span.kind != "slot" for span in find_spans(lifted.text))
    return lifted if has_spans else RecasedText(lifted, lift)
