"""Verb groups of the demo corpus: every tense in both languages, negation, pronouns in place.

Takes a verb, a tense and a person and returns the words of the verb.
"""

from random import Random

from tools.demo_corpus.noun_phrases import NounPhrase
from tools.demo_corpus.spanish import FIRST, THIRD, conjugate
from tools.demo_corpus.verbs import Verb

TENSES = (
    "present",
    "past",
    "used to",
    "future",
    "going to",
    "progressive",
    "perfect",
    "want",
    "can",
    "have to",
    "had to",
)
"""English constructions; each has exactly one Spanish rendering (see `spanish_verb_group`)."""


REFLEXIVE = ("me", "te", "se", "nos", "se")


def join_words(*parts: str) -> str:
    """Join the parts that are not empty with single spaces."""
    return " ".join(filter(None, parts))


def english_auxiliary(verb: Verb, tense: str, person: int, plural: bool) -> tuple[str, str, str]:
    """Return the auxiliary, the rest after it, and the plain affirmative verb.

    Example:
        >>> from tools.demo_corpus.verbs import verb
        >>> english_auxiliary(verb("buy", "comprar"), "present", THIRD, plural=False)
        ('does', 'buy', 'buys')
    """
    forms = verb.english
    third = person == THIRD
    be = "am" if person == FIRST else "is" if third else "are"
    do = "does" if third else "do"
    if forms.base == "be" and tense in ("present", "past"):
        form = be if tense == "present" else "were" if plural or person == 1 else "was"
        return form, "", form
    if tense == "present":
        return do, forms.base, forms.third if third else forms.base
    if tense == "past":
        return "did", forms.base, forms.past
    if tense == "used to":
        return "did", f"use to {forms.base}", f"used to {forms.base}"
    if tense == "want":
        return do, f"want to {forms.base}", f"{'wants' if third else 'want'} to {forms.base}"
    if tense == "have to":
        return do, f"have to {forms.base}", f"{'has' if third else 'have'} to {forms.base}"
    if tense == "had to":
        return "did", f"have to {forms.base}", f"had to {forms.base}"
    auxiliary, rest = {
        "future": ("will", forms.base),
        "can": ("can", forms.base),
        "going to": (be, f"going to {forms.base}"),
        "progressive": (be, forms.gerund),
        "perfect": ("has" if third else "have", forms.participle),
    }[tense]
    return auxiliary, rest, f"{auxiliary} {rest}"


def spanish_verb_group(
    verb: Verb, tense: str, person: int, negative: bool = False, clitic: str = ""
) -> str:
    """Return the Spanish verb with "no" and its pronouns in place.

    Example:
        >>> from tools.demo_corpus.verbs import verb
        >>> spanish_verb_group(verb("get up", "levantarse"), "want", FIRST, negative=True)
        'no quiero levantarme'
    """
    forms = verb.spanish
    pronoun = REFLEXIVE[person] if verb.reflexive else clitic
    attached = ""
    if tense in _AUXILIARIES:
        infinitive, form, link = _AUXILIARIES[tense]
        finite = join_words(getattr(conjugate(infinitive), form)[person], link)
        if tense in ("progressive", "perfect"):
            main = forms.gerund if tense == "progressive" else forms.participle
        else:
            main, attached = forms.infinitive, pronoun
        finite = f"{finite} {main}{attached}"
    else:
        finite = getattr(forms, "imperfect" if tense == "used to" else tense)[person]
    return join_words("no" if negative else "", "" if attached else pronoun, finite)


_AUXILIARIES = {
    "going to": ("ir", "present", "a"),
    "progressive": ("estar", "present", ""),
    "perfect": ("haber", "present", ""),
    "want": ("querer", "present", ""),
    "can": ("poder", "present", ""),
    "have to": ("tener", "present", "que"),
    "had to": ("tener", "past", "que"),
}


_NEGATED = {
    "do": "don't",
    "does": "doesn't",
    "did": "didn't",
    "will": "won't",
    "is": "isn't",
    "are": "aren't",
    "was": "wasn't",
    "were": "weren't",
    "has": "hasn't",
    "have": "haven't",
    "can": "can't",
}


def negate(rng: Random, auxiliary: str) -> str:
    """Return an auxiliary with "not", contracted one time in three."""
    if rng.random() < 0.33 and auxiliary in _NEGATED:
        return _NEGATED[auxiliary]
    return "cannot" if auxiliary == "can" else f"{auxiliary} not"


_CONTRACTED = {"am": "'m", "is": "'s", "are": "'re", "will": "'ll"}


def contract(rng: Random, subject: NounPhrase, verb_words: str) -> str:
    """Join subject and verb; one time in four a pronoun takes a short "be" or "will" ("I'm")."""
    first, _, rest = verb_words.partition(" ")
    if subject.is_pronoun and first in _CONTRACTED and rng.random() < 0.25:
        return join_words(subject.english + _CONTRACTED[first], rest)
    return f"{subject.english} {verb_words}"
