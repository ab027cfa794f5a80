"""Terms of a text that the model reads with its words: as phrases that the translation must hold,
with their translations beside them, or both.
"""

import dataclasses
from collections.abc import Sequence
from functools import partial
from typing import get_args

from keras_transformer.config.checks import check_choice
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.markup.casing import Casing, lifted_by, recasing
from keras_transformer.markup.lifting import lifter_of
from keras_transformer.markup.profiles import PART, TERM, Profile
from keras_transformer.markup.soft_terms.annotation import (
    annotated,
    annotations_of,
    folded_words,
    holds_form,
    without_annotations,
)
from keras_transformer.markup.spans import Span, find_spans
from keras_transformer.markup.terms import Glossary, TermUse
from keras_transformer.text.subwords.slots import (
    TERM_MARKS,
    Lift,
    Relifted,
    Required,
    TokenAlignment,
)
from keras_transformer.text.training_text import TrainingText


@dataclasses.dataclass(frozen=True)
class TextWithTerms(Relifted):
    """The `Lifted` of a text that the model reads with its terms.

    Attributes:
        terms: The terms, in order.
        use: How they decide.
    """

    terms: Sequence[Span]
    use: TermUse = "hard"

    @property
    def text(self) -> str:
        """What the model reads, with the terms' translations beside them if they are soft."""
        if self.use == "hard":
            return self.lifted.text
        return annotated(self.lifted.text, [(term.end, term.written) for term in self.terms])

    @property
    def required(self) -> Required:
        """The phrases that a translation must hold."""
        if self.use == "soft":
            return ()
        return [(one,) for one in dict.fromkeys(term.written for term in self.terms)]

    def put_back(self, translation: str, alignment: TokenAlignment | None = None) -> str:
        """Returns a translation of `text`, or a piece of one, with the spans; words of `text` that
        stand for unknown ones have no annotation.
        """
        translation = without_annotations(translation)
        return self.lifted.put_back(translation, alignment and self._unannotated(alignment))

    def is_kept(self, translation: str, alignment: TokenAlignment | None = None) -> bool:
        """Returns whether a translation has every span and, in any capitals, every term; a soft one
        may be inflected.
        """
        said, words = translation.casefold(), folded_words(translation)
        has_terms = all(
            term.written.casefold() in said
            or (self.use == "soft" and holds_form(words, term.written))
            for term in self.terms
        )
        alignment = alignment and self._unannotated(alignment)
        return has_terms and self.lifted.is_kept(translation, alignment)

    def _unannotated(self, alignment: TokenAlignment) -> TokenAlignment:
        """Returns the alignment with the text without annotations, whose tokens are the terms'."""
        source, behind = "", 0
        places = list(alignment.source_places)
        for (start, end), term in zip(annotations_of(alignment.source), self.terms, strict=False):
            source += alignment.source[behind:start]
            own = (len(source) - len(term.text), len(source))
            skipped = end - len(source)
            for number, place in enumerate(alignment.source_places):
                if start <= place[0] < end:
                    places[number] = own
                elif place[0] >= end:
                    places[number] = (place[0] - skipped, place[1] - skipped)
            behind = end
        source += alignment.source[behind:]
        return dataclasses.replace(alignment, source=source, source_places=places)


def with_terms(
    text: str,
    profile: Profile | None = None,
    *,
    lift: Lift | None,
    glossary: Glossary,
    use: TermUse = "hard",
) -> TextWithTerms:
    """Lifts the spans of a text out of it, and finds the terms in what is left.

    Args:
        text: The text; one with marks has all of its terms.
        profile: Kinds of spans, if they are others than those of `lift`.
        lift: Lifts spans out of a text; None for none.
        glossary: The terms.
        use: How they decide.

    Example:
        >>> from keras_transformer.markup.terms import Term
        >>> terms = Glossary((Term("files", "Dateien"),))
        >>> with_terms("Open all files", lift=None, glossary=terms).required
        [('Dateien',)]
    """
    lifted = lifted_by(lift, text, profile)
    # What stands beside a word of a placeholder would be in the middle of it.
    found = find_spans(lifted.text, "plain" if use == "hard" else "auto", (), glossary)
    is_annotated = not set(TERM_MARKS).isdisjoint(lifted.text)
    terms = [] if is_annotated else [one for one in found if one.kind in (TERM, PART)]
    return TextWithTerms(lifted, terms, use)


def text_lifter(
    special_ids: SpecialIds,
    seen: TrainingText | None,
    *,
    markup: Profile | None,
    glossary: Glossary | None,
    casing: Casing,
    terms: TermUse | None = None,
) -> Lift | None:
    """Returns what a model reads texts by: without spans, recased, and with the terms found.

    Args:
        special_ids: The model's, with its slots.
        seen: What its training lines looked like; None if unknown.
        markup: As for `lifter_of`.
        glossary: Terms; None for none.
        casing: As for `recasing`.
        terms: How they decide; None for `DEFAULT`.

    Raises:
        ValueError: The profile is unknown, or the casing; terms are to be soft, and the model was
            not trained with such.
    """
    use = _checked(terms, seen)
    in_slots = glossary if use == "hard" else None
    lift = recasing(lifter_of(special_ids, seen, markup, in_slots), casing, seen)
    if glossary is None or (in_slots and special_ids.slots):
        return lift
    return partial(with_terms, lift=lift, glossary=glossary, use=use)


def _checked(terms: TermUse | None, seen: TrainingText | None) -> TermUse:
    if terms is None:
        return "hard"
    check_choice("terms", terms, get_args(TermUse))
    if terms != "hard" and not (seen and seen.soft_terms):
        raise ValueError(
            f"terms={terms!r} needs a model that was trained with soft terms, and this one was "
            "not: give 'hard', or train with soft_terms (--soft-terms 0.5)."
        )
    return terms
