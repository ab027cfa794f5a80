"""The people of the demo corpus: subjects, objects, companions and owners.

Takes a random generator and returns a `NounPhrase` about one person or several.
"""

from random import Random

from tools.demo_corpus.adjectives import LEADING
from tools.demo_corpus.noun_phrases import (
    POSSESSIVES,
    NounPhrase,
    attribute,
    determined,
)
from tools.demo_corpus.nouns import MEN, NOUNS, WOMEN, nouns_of
from tools.demo_corpus.spanish import (
    FIRST,
    FIRST_PLURAL,
    SECOND,
    THIRD,
    THIRD_PLURAL,
    join_with_and,
    with_preposition,
)

PRONOUNS = (
    NounPhrase("I", "", FIRST, pronoun="I"),
    NounPhrase("you", "", SECOND, pronoun="you"),
    NounPhrase("he", "él", THIRD, pronoun="he"),
    NounPhrase("she", "ella", THIRD, feminine=True, pronoun="she"),
    NounPhrase("we", "", FIRST_PLURAL, pronoun="we"),
    NounPhrase("they", "ellos", THIRD_PLURAL, pronoun="they"),
)


_SPOUSES = {"wife": ("my", "your", "his"), "husband": ("my", "your", "her")}


def relative(rng: Random, plural_too: bool = True) -> NounPhrase:
    """Return somebody's relative or friend ("our grandparents")."""
    possessive = rng.choice(tuple(POSSESSIVES))
    chance = rng.random()
    if plural_too and chance < 0.15:
        return determined(rng.choice(NOUNS["couples"]), possessive, plural=True)
    if plural_too and chance < 0.3:
        return determined(rng.choice(NOUNS["relatives"]), possessive, plural=True)
    noun = rng.choice(nouns_of("relatives parents"))
    if noun.english in _SPOUSES:
        possessive = rng.choice(_SPOUSES[noun.english])
    before = LEADING["best"] if noun.english == "friend" and rng.random() < 0.4 else None
    return determined(noun, possessive, before=before)


def someone(rng: Random) -> NounPhrase:
    """Return a person spoken of by trade, sex or age ("those tall women")."""
    noun = rng.choice(NOUNS["people"])
    plural = rng.random() < 0.3
    determiner = rng.choice(
        ("the", "the", "the", "those") if plural else ("the", "the", "this", "that")
    )
    after = attribute(rng, noun) if rng.random() < 0.2 else None
    return determined(noun, determiner, plural, after)


def named(rng: Random) -> NounPhrase:
    """Return a person's first name."""
    if rng.random() < 0.5:
        name = rng.choice(WOMEN)
        return NounPhrase(name, name, THIRD, feminine=True, pronoun="she")
    name = rng.choice(MEN)
    return NounPhrase(name, name, THIRD, pronoun="he")


def two_people(rng: Random) -> NounPhrase:
    """Return two people joined by "and" ("Luis e Isabel", "mi hermana y yo")."""
    first = named(rng) if rng.random() < 0.6 else relative(rng, plural_too=False)
    if rng.random() < 0.35:
        spanish = join_with_and(first.spanish, "yo")
        return NounPhrase(f"{first.english} and I", spanish, FIRST_PLURAL, pronoun="we")
    second = named(rng)
    while second.english == first.english:
        second = named(rng)
    return NounPhrase(
        f"{first.english} and {second.english}",
        join_with_and(first.spanish, second.spanish),
        THIRD_PLURAL,
        feminine=first.feminine and second.feminine,
        pronoun="they",
    )


def person(rng: Random) -> NounPhrase:
    """Return a known person or persons that is not a pronoun."""
    chance = rng.random()
    if chance < 0.4:
        return named(rng)
    return relative(rng) if chance < 0.75 else someone(rng)


def subject(rng: Random) -> NounPhrase:
    """Return a human subject, a pronoun nearly half the time."""
    chance = rng.random()
    if chance < 0.45:
        return rng.choice(PRONOUNS)
    return two_people(rng) if chance > 0.95 else person(rng)


def owned(rng: Random, kinds: str) -> NounPhrase:
    """Return a thing with its owner ("my parents' car", "el coche de mis padres")."""
    owner = named(rng) if rng.random() < 0.6 else relative(rng)
    noun = rng.choice(nouns_of(kinds))
    plural = not noun.mass and rng.random() < 0.25
    held = determined(noun, "the", plural)
    ending = "'" if owner.english.endswith("s") and owner.plural else "'s"
    return NounPhrase(
        f"{owner.english}{ending} {held.english.removeprefix('the ')}",
        f"{held.spanish} {with_preposition('de', owner.spanish)}",
        held.person,
        noun.feminine,
        held.pronoun,
        held.kind,
    )


_PREPOSITIONAL = {
    "me": {"con": "conmigo", "para": "para mí"},
    "you": {"con": "contigo", "para": "para ti"},
    "him": {"con": "con él", "para": "para él"},
    "her": {"con": "con ella", "para": "para ella"},
    "us": {"con": "con nosotros", "para": "para nosotros"},
    "them": {"con": "con ellos", "para": "para ellos"},
}


_OWN = {
    FIRST: ("me", "us"),
    SECOND: ("you",),
    FIRST_PLURAL: ("us", "me"),
    THIRD: (),
    THIRD_PLURAL: (),
}


def with_somebody(rng: Random, english: str, spanish: str, subject_person: int) -> tuple[str, str]:
    """Return a preposition with a person who is not the subject ("for my aunt", "para mi tía")."""
    if rng.random() < 0.3:
        choices = [word for word in _PREPOSITIONAL if word not in _OWN[subject_person]]
        pronoun = rng.choice(choices)
        return f"{english} {pronoun}", _PREPOSITIONAL[pronoun][spanish]
    who = person(rng)
    return f"{english} {who.english}", f"{spanish} {who.spanish}"


def to_person(who: NounPhrase) -> str:
    """Return the Spanish object with its personal "a" ("al médico")."""
    return with_preposition("a", who.spanish)
