"""Sentences of the demo corpus about what people have, want and like.

Each pattern takes a random generator and returns a finished sentence in both languages.
"""

from random import Random

from tools.demo_corpus import english as demo_english
from tools.demo_corpus import noun_phrases as phrases
from tools.demo_corpus import people as people
from tools.demo_corpus import spanish as demo_spanish
from tools.demo_corpus.adverbials import MANNER
from tools.demo_corpus.clauses import Clause, finish, statement
from tools.demo_corpus.noun_phrases import NounPhrase
from tools.demo_corpus.nouns import NOUNS, THINGS, Noun, nouns_of
from tools.demo_corpus.predicates import object_of, owning
from tools.demo_corpus.spanish import with_preposition
from tools.demo_corpus.verb_groups import (
    english_auxiliary,
    join_words,
    negate,
    spanish_verb_group,
)
from tools.demo_corpus.verbs import (
    FIXED,
    HAVE,
    OWNING,
    TRANSITIVE,
    verb,
)


def own(rng: Random) -> tuple[str, str]:
    """Say or ask what somebody has, wants, needs or prefers."""
    who = people.subject(rng)
    chance = rng.random()
    if chance < 0.25:
        verb_, kinds = rng.choice(OWNING)
        with_any = verb_.english.base != "prefer" and rng.random() < 0.5
        target = (
            phrases.any_thing(rng, kinds, negative=False) if with_any else object_of(rng, kinds)
        )
        auxiliary, rest, _ = english_auxiliary(verb_, "present", who.person, who.plural)
        question = Clause(
            join_words(auxiliary, who.english, rest, target.english),
            join_words(
                who.spanish, spanish_verb_group(verb_, "present", who.person), target.spanish
            ),
        )
        return finish(question, "?")
    negative = chance < 0.45
    return finish(statement(rng, who, owning(rng, negative), "present", negative))


def have_relatives(rng: Random) -> tuple[str, str]:
    """Say or ask how many brothers, sisters or friends somebody has."""
    who = people.subject(rng)
    noun = rng.choice(NOUNS["relatives"])
    has = spanish_verb_group(HAVE, "present", who.person)
    auxiliary, rest, plain = english_auxiliary(HAVE, "present", who.person, who.plural)
    chance = rng.random()
    if chance < 0.3:
        plural = phrases.determined(noun, "", plural=True)
        how_many = "cuántas" if noun.feminine else "cuántos"
        question = Clause(
            f"how many {plural.english} {auxiliary} {who.english} {rest}",
            join_words(how_many, plural.spanish, has, who.spanish),
        )
        return finish(question, "?")
    count = rng.randint(1, 5)
    first = _some_relatives(noun, count)
    if chance < 0.6:
        other = rng.choice(NOUNS["relatives"])
        while other == noun:
            other = rng.choice(NOUNS["relatives"])
        second = _some_relatives(other, rng.randint(1, 5))
        first = NounPhrase(
            f"{first.english} and {second.english}",
            demo_spanish.join_with_and(first.spanish, second.spanish),
        )
    return finish(
        Clause(
            f"{who.english} {plain} {first.english}", join_words(who.spanish, has, first.spanish)
        )
    )


def _some_relatives(noun: Noun, count: int) -> NounPhrase:
    plain = phrases.determined(noun, "", plural=count > 1)
    return NounPhrase(
        f"{demo_english.number_words(count)} {plain.english}",
        f"{demo_spanish.number_words(count, noun.feminine)} {plain.spanish}",
    )


def like(rng: Random) -> tuple[str, str]:
    """Say or ask what somebody likes: gustar, with the thing liked as its subject."""
    who = people.subject(rng)
    target, plural = _liked(rng)
    dative = ("me", "te", "le", "nos", "les")[who.person]
    pleases = "gustan" if plural else "gusta"
    # "he" and "they" are said in full ("a él le gusta"); I, you and we are in the pronoun.
    experiencer = with_preposition("a", who.spanish) if who.spanish else ""
    auxiliary, rest, plain = english_auxiliary(_LIKE, "present", who.person, who.plural)
    chance = rng.random()
    if chance < 0.25:
        question = Clause(
            f"{auxiliary} {who.english} {rest} {target.english}",
            join_words(experiencer, dative, pleases, target.spanish),
        )
        return finish(question, "?")
    much = rng.choice((("", ""), ("", ""), (" very much", "mucho")))
    if chance < 0.5:
        english = f"{who.english} {negate(rng, auxiliary)} {rest} {target.english}"
        return finish(
            Clause(english, join_words(experiencer, "no", dative, pleases, target.spanish))
        )
    return finish(
        Clause(
            f"{who.english} {plain} {target.english}{much[0]}",
            join_words(experiencer, dative, pleases, much[1], target.spanish),
        )
    )


_LIKE = verb("like", "gustar")


def _liked(rng: Random) -> tuple[Clause, bool]:
    chance = rng.random()
    if chance < 0.4:
        noun = rng.choice(nouns_of("fruit food cooked drink dish animal nature"))
        return _in_general(noun), not noun.mass
    if chance < 0.7:
        phrase = phrases.thing(rng, THINGS + " show music place", definite=True, adjective=0.4)
        return Clause(phrase.english, phrase.spanish), phrase.plural
    if chance < 0.85:
        action = rng.choice(TRANSITIVE[:3])
        target = object_of(rng, action.objects)
        return (
            Clause(
                f"to {action.verb.english.base} {target.english}",
                f"{action.verb.spanish.infinitive} {target.spanish}",
            ),
            False,
        )
    action = rng.choice(FIXED)
    manner = (
        rng.choice(MANNER[3:]) if "manner" in action.adjuncts and rng.random() < 0.2 else ("", "")
    )
    return (
        Clause(
            join_words("to", action.verb.english.base, action.english, manner[0]),
            join_words(action.verb.spanish.infinitive, action.spanish, manner[1]),
        ),
        False,
    )


def _in_general(noun: Noun) -> Clause:
    """Return a kind of thing: bare in English, with its article in Spanish."""
    plural = not noun.mass
    english = noun.english_plural if plural else noun.english
    return Clause(english, phrases.determined(noun, "the", plural).spanish)
