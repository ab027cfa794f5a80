"""Terms of a text as phrases that its translation must hold, for models without slots."""

from dataclasses import dataclass
from functools import partial

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.markup.casing import Casing, lifted_by, recasing
from keras_transformer.markup.lifting import lifter_of
from keras_transformer.markup.profiles import Profile
from keras_transformer.markup.spans import find_spans
from keras_transformer.markup.terms import Glossary
from keras_transformer.text.subwords.slots import (
    Lift,
    Relifted,
    Required,
    TokenAlignment,
)
from keras_transformer.text.training_text import TrainingText


@dataclass(frozen=True)
class TextWithTerms(Relifted):
    """The `Lifted` of a text that the model reads with its terms.

    Attributes:
        terms: The forms of each term's translation.
    """

    terms: Required

    @property
    def required(self) -> Required:
        """The phrases that a translation must hold."""
        return self.terms

    def is_kept(self, translation: str, alignment: TokenAlignment | None = None) -> bool:
        """Returns whether a translation has every span and, in any capitals, every term."""
        said = translation.casefold()
        has_terms = all(any(form.casefold() in said for form in forms) for forms in self.terms)
        return has_terms and self.lifted.is_kept(translation, alignment)


def with_terms(
    text: str, profile: Profile | None = None, *, lift: Lift | None, glossary: Glossary
) -> TextWithTerms:
    """Lifts the spans of a text out of it, and finds the terms in what is left.

    Args:
        text: The text.
        profile: Kinds of spans, if they are others than those of `lift`.
        lift: Lifts spans out of a text; None for none.
        glossary: The terms.

    Example:
        >>> from keras_transformer.markup.terms import Term
        >>> terms = Glossary((Term("files", "Dateien"),))
        >>> with_terms("Open all files", lift=None, glossary=terms).required
        [('Dateien',)]
    """
    lifted = lifted_by(lift, text, profile)
    found = find_spans(lifted.text, "plain", (), glossary)
    return TextWithTerms(lifted, [(one,) for one in dict.fromkeys(span.written for span in found)])


def requiring(lift: Lift | None, glossary: Glossary | None, special_ids: SpecialIds) -> Lift | None:
    """Returns what lifts spans and finds terms for a model whose slots do not stand for them.

    Args:
        lift: Lifts spans out of a text; None for none.
        glossary: The terms; None for none.
        special_ids: The model's, with its slots.
    """
    if glossary is None or special_ids.slots:
        return lift
    return partial(with_terms, lift=lift, glossary=glossary)


def text_lifter(
    special_ids: SpecialIds,
    seen: TrainingText | None,
    *,
    markup: Profile | None,
    glossary: Glossary | None,
    casing: Casing,
) -> Lift | None:
    """Returns what a model reads texts by: without spans, recased, and with the terms found.

    Args:
        special_ids: The model's, with its slots.
        seen: What its training lines looked like; None if unknown.
        markup: As for `lifter_of`.
        glossary: Terms; None for none.
        casing: As for `recasing`.

    Raises:
        ValueError: The profile is unknown, or the casing.
    """
    lift = recasing(lifter_of(special_ids, seen, markup, glossary), casing, seen)
    return requiring(lift, glossary, special_ids)
