"""Terms of a list in translations: which are there as the list has them, and which inflected."""

import dataclasses
from collections.abc import Sequence

import sacrebleu

from keras_transformer.markup.required import with_terms
from keras_transformer.markup.soft_terms.annotation import folded_words, holds_form
from keras_transformer.markup.terms import Glossary


@dataclasses.dataclass(frozen=True)
class Used:
    """How one way of translating texts with terms did.

    Attributes:
        wanted: Terms of the texts that the references have, too, in any form.
        exact: Those of them that the translations have as words of the list's form.
        used: Those that the translations have in any form.
        bleu: Of all texts with terms.
        chrf: Of all texts with terms.
        seconds: Processor time.
    """

    wanted: int
    exact: int
    used: int
    bleu: float
    chrf: float
    seconds: float


def terms_of(text: str, glossary: Glossary) -> list[str]:
    """Returns what a list says of the terms of a text."""
    return [one.written for one in with_terms(text, lift=None, glossary=glossary, use="soft").terms]


def judge_terms(
    terms: Sequence[Sequence[str]], references: Sequence[str], found: Sequence[str], seconds: float
) -> Used:
    """Looks at the translations of texts whose terms are known."""
    wanted = exact = used = 0
    for own, reference, said in zip(terms, references, found, strict=True):
        expected, words = folded_words(reference), folded_words(said)
        for term in own:
            if holds_form(expected, term):
                wanted += 1
                exact += f" {' '.join(folded_words(term))} " in f" {' '.join(words)} "
                used += holds_form(words, term)
    bleu = sacrebleu.corpus_bleu(found, [references]).score
    chrf = sacrebleu.corpus_chrf(found, [references]).score
    return Used(wanted, exact, used, bleu, chrf, seconds)
