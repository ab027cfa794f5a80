"""Sentences of the demo corpus about what people and things are like and how people feel.

Each pattern takes a random generator and returns a finished sentence in both languages.
"""

from random import Random

from tools.demo_corpus import english as demo_english
from tools.demo_corpus import noun_phrases as phrases
from tools.demo_corpus import people as people
from tools.demo_corpus.adjectives import ADJECTIVES, ATTRIBUTES
from tools.demo_corpus.clauses import Clause, being, finish
from tools.demo_corpus.noun_phrases import NounPhrase, known_thing
from tools.demo_corpus.nouns import CITIES, NOUNS, PROFESSIONS, THINGS, nouns_of
from tools.demo_corpus.verb_groups import (
    contract,
    english_auxiliary,
    join_words,
    negate,
    spanish_verb_group,
)
from tools.demo_corpus.verbs import (
    BE,
    BE_IN_A_STATE,
    HAVE,
    Verb,
)

_DESCRIBED = (
    f"{THINGS} {THINGS} fruit food cooked drink dish show music matter task place room "
    "animal nature transport"
)


# Groups of adjectives that describe a passing state: estar, not ser.
_STATES = frozenset({"taste", "flavor", "condition", "opening", "mood"})


_WITHOUT_DEGREE = frozenset({"color", "fur", "nation", "opening"})


_HUMAN_KINDS = frozenset({"", "people", "relatives", "parents", "couples"})


_OPENING_KINDS = frozenset({"openable", "place"})


_DEGREES = (("very", "muy"), ("very", "muy"), ("too", "demasiado"), ("quite", "bastante"))


# English adjective, Spanish noun after tener, its gender.
_FEELINGS = (
    ("hungry", "hambre", True),
    ("thirsty", "sed", True),
    ("sleepy", "sueño", False),
    ("cold", "frío", False),
    ("hot", "calor", False),
    ("afraid", "miedo", False),
    ("in a hurry", "prisa", True),
    ("lucky", "suerte", True),
)


def describable(rng: Random, pronouns: bool = True) -> NounPhrase:
    """Return somebody or something that an adjective can describe."""
    if rng.random() < 0.5:
        return people.subject(rng) if pronouns else people.person(rng)
    kind = phrases.kind_of(rng.choice(nouns_of(_DESCRIBED)))
    return people.owned(rng, kind) if rng.random() < 0.15 else known_thing(rng, kind)


def _quality(rng: Random, who: NounPhrase) -> tuple[Clause, Verb]:
    """Return an adjective that suits a subject, agreeing, and the Spanish verb it asks for."""
    groups: tuple[str, ...] = ("mood", "mood", "person", "nation")
    if who.kind not in _HUMAN_KINDS:
        groups = ATTRIBUTES[who.kind] + (("opening",) if who.kind in _OPENING_KINDS else ())
    group = rng.choice(groups)
    adjective = rng.choice(ADJECTIVES[group])
    degree = ("", "")
    if group not in _WITHOUT_DEGREE and adjective.english != "delicious" and rng.random() < 0.35:
        degree = rng.choice(_DEGREES)
    words = Clause(
        join_words(degree[0], adjective.english),
        join_words(degree[1], adjective.agree(who.feminine, who.plural)),
    )
    return words, BE_IN_A_STATE if group in _STATES else BE


def description_of(rng: Random, who: NounPhrase) -> Clause:
    """Return a clause such as "the houses were very old" about a given subject."""
    words, to_be = _quality(rng, who)
    tense = rng.choice(("present", "present", "present", "past"))
    return being(rng, who, to_be, tense, rng.random() < 0.2, words)


def describe(rng: Random) -> tuple[str, str]:
    """Describe somebody or something."""
    return finish(description_of(rng, describable(rng)))


def ask_description(rng: Random) -> tuple[str, str]:
    """Ask what somebody or something is like; a noun follows its adjective in Spanish."""
    who = describable(rng)
    words, to_be = _quality(rng, who)
    tense = rng.choice(("present", "present", "past"))
    form, _, _ = english_auxiliary(to_be, tense, who.person, who.plural)
    is_ = spanish_verb_group(to_be, "used to" if tense == "past" else tense, who.person)
    order = (
        (who.spanish, is_, words.spanish) if who.is_pronoun else (is_, words.spanish, who.spanish)
    )
    return finish(Clause(f"{form} {who.english} {words.english}", join_words(*order)), "?")


def mood(
    rng: Random, who: NounPhrase, known_subject: bool = False, hindering: bool = False
) -> Clause:
    """Return how somebody feels ("she is very tired").

    Args:
        rng: source of every choice.
        who: the subject.
        known_subject: Spanish leaves it out.
        hindering: only what keeps one from doing something, hunger and cold included.
    """
    if hindering and rng.random() < 0.5:
        return _feeling(rng, who, False, known_subject, _FEELINGS[:-1])
    moods = ADJECTIVES["mood"]
    adjective = rng.choice([one for one in moods if not hindering or one.english != "happy"])
    degree = rng.choice((("", ""), ("", ""), ("very", "muy")))
    agreed = adjective.agree(who.feminine, who.plural)
    rest = Clause(join_words(degree[0], adjective.english), join_words(degree[1], agreed))
    return being(rng, who, BE_IN_A_STATE, "present", False, rest, known_subject)


def _feeling(
    rng: Random,
    who: NounPhrase,
    negative: bool,
    known_subject: bool = False,
    feelings: tuple[tuple[str, str, bool], ...] = _FEELINGS,
) -> Clause:
    english, spanish, feminine = rng.choice(feelings)
    very = english not in ("in a hurry", "lucky") and rng.random() < 0.4
    auxiliary, _, plain = english_auxiliary(BE, "present", who.person, who.plural)
    words = negate(rng, auxiliary) if negative else plain
    much = ("mucha" if feminine else "mucho") if very else ""
    return Clause(
        join_words(contract(rng, who, words), "very" if very else "", english),
        join_words(
            "" if known_subject else who.spanish,
            spanish_verb_group(HAVE, "present", who.person, negative),
            much,
            spanish,
        ),
    )


def feel(rng: Random) -> tuple[str, str]:
    """Say or ask whether somebody is hungry, cold, afraid (tener, not estar)."""
    who = people.subject(rng)
    if rng.random() < 0.7:
        return finish(_feeling(rng, who, negative=rng.random() < 0.25))
    english, spanish, _ = rng.choice(_FEELINGS)
    form, _, _ = english_auxiliary(BE, "present", who.person, who.plural)
    has = spanish_verb_group(HAVE, "present", who.person)
    question = Clause(f"{form} {who.english} {english}", join_words(who.spanish, has, spanish))
    return finish(question, "?")


def profession(rng: Random) -> tuple[str, str]:
    """Say or ask what somebody's trade is; Spanish uses no article."""
    who = people.subject(rng)
    while who.plural:
        who = people.subject(rng)
    english, masculine, feminine = rng.choice(PROFESSIONS)
    tense = rng.choice(("present", "present", "past"))
    trade = Clause(
        demo_english.with_indefinite_article(english), feminine if who.feminine else masculine
    )
    if rng.random() < 0.3:
        form, _, _ = english_auxiliary(BE, "present", who.person, who.plural)
        is_ = spanish_verb_group(BE, "present", who.person)
        question = Clause(
            f"{form} {who.english} {trade.english}", join_words(who.spanish, is_, trade.spanish)
        )
        return finish(question, "?")
    return finish(being(rng, who, BE, tense, rng.random() < 0.2, trade))


def compare(rng: Random) -> tuple[str, str]:
    """Compare two things or two people ("bigger than", "as tall as")."""
    if rng.random() < 0.4:
        first = people.subject(rng)
        second = rng.choice((people.person(rng), people.named(rng)))
        adjective = rng.choice(ADJECTIVES["person"])
    else:
        kind = phrases.kind_of(rng.choice(nouns_of(THINGS + " place room fruit drink show")))
        first, second = known_thing(rng, kind), known_thing(rng, kind)
        groups = [group for group in ATTRIBUTES[kind] if group in ("form", "price", "text")]
        adjective = rng.choice(ADJECTIVES[rng.choice(groups or ["form"])])
    same_noun = first.english.split()[-1] == second.english.split()[-1]
    if same_noun and ("the " in first.english or "the " in second.english):
        return compare(rng)
    if first.english in second.english or second.english in first.english:
        return compare(rng)
    agreed = adjective.agree(first.feminine, first.plural)
    more, _ = demo_english.compare(adjective.english)
    english, spanish = rng.choice(
        (
            (f"{more} than", f"más {agreed} que"),
            (f"{more} than", f"más {agreed} que"),
            (f"as {adjective.english} as", f"tan {agreed} como"),
        )
    )
    rest = Clause(f"{english} {second.english}", f"{spanish} {second.spanish}")
    tense = rng.choice(("present", "present", "present", "past"))
    return finish(being(rng, first, BE, tense, rng.random() < 0.15, rest))


_NOT_IN_CITIES = ("village", "classroom", "beach")


def superlative(rng: Random) -> tuple[str, str]:
    """Say what is the most of its kind ("the oldest church in Rome", "de Roma")."""
    noun = rng.choice([one for one in NOUNS["place"] if one.english not in _NOT_IN_CITIES])
    adjective = rng.choice(ADJECTIVES["form"] + ADJECTIVES["age"])
    _, most = demo_english.compare(adjective.english)
    city = rng.choice(CITIES)
    group = Clause(
        f"the {most} {noun.english} in {city[0]}",
        f"{phrases.determined(noun, 'the').spanish} más {adjective.agree(noun.feminine, False)} "
        f"de {city[1]}",
    )
    demonstrative = rng.choice((("this", "este", "esta"), ("that", "ese", "esa")))
    this = demonstrative[2 if noun.feminine else 1]
    return finish(Clause(f"{demonstrative[0]} is {group.english}", f"{this} es {group.spanish}"))
