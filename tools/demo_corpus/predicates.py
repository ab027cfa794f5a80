"""What somebody does: predicates drawn from the actions of the demo corpus, with fitting tenses.

Takes a random generator and a subject and returns a `Predicate` and the tenses it allows.
"""

from dataclasses import dataclass
from functools import cache
from random import Random

from tools.demo_corpus import noun_phrases as phrases
from tools.demo_corpus import people as people
from tools.demo_corpus import places as places
from tools.demo_corpus.adverbials import BEFORE_VERB, MANNER, time_for
from tools.demo_corpus.clauses import Clause, Predicate, statement
from tools.demo_corpus.noun_phrases import NounPhrase
from tools.demo_corpus.nouns import CITIES, nouns_of
from tools.demo_corpus.places import TRAVEL
from tools.demo_corpus.spanish import (
    FIRST,
    FIRST_PLURAL,
    SECOND,
    THIRD,
    with_preposition,
)
from tools.demo_corpus.verb_groups import TENSES, join_words
from tools.demo_corpus.verbs import (
    DAILY,
    FIXED,
    MOTION,
    OWNING,
    TOWARDS_PEOPLE,
    TRANSFER,
    TRANSITIVE,
    Action,
)

_COMMON: tuple[str, ...] = (
    "present",
    "present",
    "present",
    "past",
    "past",
    "future",
    "going to",
    "perfect",
)
_COMMON += ("want", "can", "have to", "had to", "progressive", "progressive", "used to")
_NEGATABLE = tuple(tense for tense in TENSES if tense != "used to")
_NOT_IN_PROGRESS = frozenset("see wear stay choose go come return travel run".split())
_FEW_TENSES = {
    "lose": ("past", "past", "perfect"),
    "find": ("past", "past", "perfect", "can", "future"),
    "break": ("past", "past", "perfect"),
    "know": ("present", "present", "used to"),
    "love": ("present", "present", "used to"),
    "need": ("present", "present", "future"),
    "understand": ("present", "past", "can", "perfect"),
    "remember": ("present", "past", "can"),
}
_FORMER = frozenset("know love work play study eat drink visit go travel sing".split())
_TIMELESS = frozenset("know love need understand remember".split())
_LONG = frozenset(
    "travel visit return go buy sell work study learn teach play paint see read write speak".split()
)

# English object pronoun, direct and indirect Spanish one, and the subjects it cannot go with.
_OBJECT_PRONOUNS = (
    ("me", "me", "me", (FIRST, FIRST_PLURAL)),
    ("you", "te", "te", (SECOND,)),
    ("him", "lo", "le", ()),
    ("her", "la", "le", ()),
    ("us", "nos", "nos", (FIRST, FIRST_PLURAL)),
    ("them", "los", "les", ()),
)


@dataclass(frozen=True)
class Doing:
    """A predicate with the tense chosen for it, and whether a time or a long time may follow."""

    predicate: Predicate
    tense: str
    timed: bool = True
    long: bool = False


def tense_of(rng: Random, english_verb: str, tenses: tuple[str, ...] = ()) -> str:
    """Return a tense in which the verb is said, of those given or of all; "" if there is none."""
    allowed = _allowed(english_verb, tenses)
    return rng.choice(allowed) if allowed else ""


@cache
def _allowed(english_verb: str, tenses: tuple[str, ...]) -> tuple[str, ...]:
    allowed = _FEW_TENSES.get(english_verb, _COMMON)
    if english_verb in _NOT_IN_PROGRESS:
        allowed = tuple(tense for tense in allowed if tense != "progressive")
    if english_verb not in _FORMER:
        allowed = tuple(tense for tense in allowed if tense != "used to")
    return tuple(tense for tense in allowed if tense in tenses) if tenses else allowed


def doing(
    rng: Random, subject: NounPhrase, negative: bool = False, tenses: tuple[str, ...] = ()
) -> Doing:
    """Return something that a human subject may do, in one of the tenses given or in any."""
    while True:
        chance = rng.random()
        if chance < 0.48:
            action, make = rng.choice(TRANSITIVE), _with_object
        elif chance < 0.66:
            action, make = rng.choice(FIXED), _complete
        elif chance < 0.76:
            action, make = rng.choice(TOWARDS_PEOPLE), _towards_person
        elif chance < 0.86:
            action, make = rng.choice(MOTION), _moving
        elif chance < 0.93:
            action, make = rng.choice(TRANSFER), _handing_over
        else:
            action, make = rng.choice(DAILY), _complete
        base = action.verb.english.base
        tense = tense_of(rng, base, tenses)
        if tense:
            predicate = make(rng, action, subject, negative)
            return Doing(predicate, tense, timed=base not in _TIMELESS, long=base in _LONG)


def _with_object(rng: Random, action: Action, subject: NounPhrase, negative: bool) -> Predicate:
    target = object_of(rng, action.objects, negative)
    extra = adjunct(rng, action.adjuncts, subject)
    return Predicate(
        action.verb, join_words(target.english, extra[0]), join_words(target.spanish, extra[1])
    )


def object_of(rng: Random, kinds: str, negative: bool = False) -> NounPhrase:
    """Return a direct object; under negation one that Spanish can negate."""
    if kinds == "drink" and not negative and rng.random() < 0.4:
        return phrases.portion(rng, drink=True)
    if "fruit food" in kinds and not negative and rng.random() < 0.2:
        return phrases.portion(rng, drink=rng.random() < 0.3 and "drink" in kinds)
    chance = rng.random()
    if chance < 0.07:
        return people.owned(rng, kinds)
    if negative and chance < 0.3:
        return phrases.any_thing(rng, kinds, negative=True)
    if negative and chance < 0.45:
        noun = rng.choice(nouns_of(kinds))
        return phrases.determined(noun, "", plural=not noun.mass)
    return phrases.thing(rng, kinds, definite=negative)


def _complete(rng: Random, action: Action, subject: NounPhrase, negative: bool) -> Predicate:
    extra = adjunct(rng, action.adjuncts, subject, likely=0.5)
    return Predicate(
        action.verb, join_words(action.english, extra[0]), join_words(action.spanish, extra[1])
    )


def _towards_person(rng: Random, action: Action, subject: NounPhrase, negative: bool) -> Predicate:
    extra = adjunct(rng, action.adjuncts, subject)
    if rng.random() < 0.35:
        english, clitic, _, excluded = rng.choice(_OBJECT_PRONOUNS)
        while subject.person in excluded:
            english, clitic, _, excluded = rng.choice(_OBJECT_PRONOUNS)
        return Predicate(action.verb, join_words(english, extra[0]), extra[1], clitic)
    who = another_person(rng, subject)
    return Predicate(
        action.verb,
        join_words(who.english, extra[0]),
        join_words(people.to_person(who), extra[1]),
    )


def another_person(rng: Random, subject: NounPhrase) -> NounPhrase:
    """Return a person other than the subject."""
    while True:
        who = people.person(rng)
        if who.english not in subject.english:
            return who


def _moving(rng: Random, action: Action, subject: NounPhrase, negative: bool) -> Predicate:
    english, spanish, base = action.english, action.spanish, action.verb.english.base
    chance = rng.random()
    if base == "travel" or (base != "run" and chance < 0.3):
        goal = rng.choice(CITIES)
    elif chance < 0.4 and base != "run" and english == "to":
        # English leaves the preposition out before "home".
        english, goal = "", ("home", "casa")
    else:
        _, where = places.place(rng)
        goal = (where.english, where.spanish)
    means = rng.choice(TRAVEL) if base != "run" and rng.random() < 0.2 else ("", "")
    return Predicate(
        action.verb,
        join_words(english, goal[0], means[0]),
        join_words(with_preposition(spanish, goal[1]), means[1]),
    )


def _handing_over(rng: Random, action: Action, subject: NounPhrase, negative: bool) -> Predicate:
    gift = phrases.thing(rng, action.objects, definite=negative)
    if rng.random() < 0.5:
        english, _, clitic, excluded = rng.choice(_OBJECT_PRONOUNS)
        while subject.person in excluded:
            english, _, clitic, excluded = rng.choice(_OBJECT_PRONOUNS)
        return Predicate(action.verb, f"{english} {gift.english}", gift.spanish, clitic)
    who = another_person(rng, subject)
    clitic = "les" if who.plural else "le"
    return Predicate(
        action.verb,
        f"{gift.english} to {who.english}",
        f"{gift.spanish} {people.to_person(who)}",
        clitic,
    )


def adjunct(rng: Random, kinds: str, subject: NounPhrase, likely: float = 0.3) -> tuple[str, str]:
    """Return a place, a companion, a receiver or a manner, or nothing."""
    if not kinds or rng.random() > likely:
        return "", ""
    kind = rng.choice(kinds.split())
    if kind == "town":
        return places.in_town(rng)
    if kind == "outdoors":
        return places.in_one_of(rng, "park beach village square school garden")
    if kind == "shops":
        return places.in_one_of(rng, "market shop airport village market shop")
    if kind == "table":
        return places.in_one_of(rng, "restaurant hotel park beach kitchen garden office")
    if kind == "home":
        return places.at_home(rng)
    if kind == "with":
        return people.with_somebody(rng, "with", "con", subject.person)
    if kind == "for":
        return people.with_somebody(rng, "for", "para", subject.person)
    return rng.choice(MANNER)


def owning(rng: Random, negative: bool = False) -> Predicate:
    """Return what somebody has, wants, needs or prefers."""
    verb, kinds = rng.choice(OWNING)
    preferred = verb.english.base == "prefer"
    target = object_of(rng, kinds, negative)
    if preferred:
        target = phrases.thing(rng, kinds, definite=True)
    return Predicate(verb, target.english, target.spanish)


def clause(
    rng: Random,
    subject: NounPhrase,
    tense: str = "",
    negative: bool = False,
    known_subject: bool = False,
    timed: float = 0.5,
) -> Clause:
    """Return a clause about what a human subject does.

    Args:
        rng: source of every choice.
        subject: who does it.
        tense: the tense, or "" for any that suits.
        negative: adds "not" and "no".
        known_subject: Spanish leaves the subject out.
        timed: probability of a time.
    """
    chosen = doing(rng, subject, negative, (tense,) if tense else _NEGATABLE if negative else ())
    before = ("", "")
    if chosen.tense == "present" and chosen.timed and not negative and rng.random() < 0.3:
        before = rng.choice(BEFORE_VERB)
    time = ("", "")
    if must_be_timed(chosen, subject, negative, before) or (
        chosen.timed and not before[0] and rng.random() < timed
    ):
        time = time_for(rng, chosen.tense, chosen.long)
    return statement(
        rng, subject, chosen.predicate, chosen.tense, negative, time, before, known_subject
    )


def must_be_timed(
    chosen: Doing, subject: NounPhrase, negative: bool, before: tuple[str, str] = ("", "")
) -> bool:
    """Whether only a time tells present from past, as in "they read the letter"."""
    forms = chosen.predicate.verb.english
    bare = subject.person not in (THIRD,)
    return (
        forms.base == forms.past
        and bare
        and not negative
        and not before[0]
        and chosen.tense in ("present", "past")
    )
