"""Sentences of the demo corpus about what there is, where it is and where people come from.

Each pattern takes a random generator and returns a finished sentence in both languages.
"""

from random import Random

from tools.demo_corpus import noun_phrases as phrases
from tools.demo_corpus import people as people
from tools.demo_corpus import places as places
from tools.demo_corpus.clauses import Clause, Predicate, being, finish, statement
from tools.demo_corpus.noun_phrases import known_thing
from tools.demo_corpus.nouns import CITIES, NOUNS, Noun, nouns_of
from tools.demo_corpus.verb_groups import (
    english_auxiliary,
    join_words,
    spanish_verb_group,
)
from tools.demo_corpus.verbs import (
    BE,
    BE_IN_A_STATE,
    verb,
)


def exist(rng: Random) -> tuple[str, str]:
    """Say or ask what there is in a place (hay)."""
    noun, where = _present_somewhere(rng)
    chance = rng.random()
    plural = phrases.determined(noun, "", plural=True)
    if chance < 0.15:
        return finish(
            Clause(
                f"there are no {plural.english} {where[0]}", f"no hay {plural.spanish} {where[1]}"
            )
        )
    if chance < 0.3:
        how_many = "cuántas" if noun.feminine else "cuántos"
        question = Clause(
            f"how many {plural.english} are there {where[0]}",
            f"{how_many} {plural.spanish} hay {where[1]}",
        )
        return finish(question, "?")
    if chance < 0.6:
        after = phrases.attribute(rng, noun) if rng.random() < 0.4 else None
        what = phrases.determined(noun, "a", after=after)
    elif chance < 0.85:
        what = phrases.counted(rng, noun, most=30)
    else:
        what = phrases.determined(noun, rng.choice(("many", "some")), plural=True)
    past = rng.random() < 0.3
    form = ("were" if past else "are") if what.plural else "was" if past else "is"
    spanish = f"{'había' if past else 'hay'} {what.spanish} {where[1]}"
    if rng.random() < 0.2:
        return finish(Clause(f"{form} there {what.english} {where[0]}", spanish), "?")
    return finish(Clause(f"there {form} {what.english} {where[0]}", spanish))


def _present_somewhere(rng: Random) -> tuple[Noun, tuple[str, str]]:
    """Return a noun and a place where one may find it."""
    chance = rng.random()
    if chance < 0.3:
        return rng.choice(NOUNS["people"]), places.in_town(rng)
    if chance < 0.5:
        where = places.in_one_of(rng, "garden park village beach house")
        return rng.choice(NOUNS["animal"]), rng.choice((where, places.beside(rng)))
    if chance < 0.7:
        city = rng.choice(CITIES)
        return rng.choice(NOUNS["place"]), (f"in {city[0]}", f"en {city[1]}")
    where = rng.choice((places.at_home(rng), places.beside(rng)))
    return rng.choice(nouns_of("belongings device pairs press tableware fruit")), where


def _where(rng: Random) -> tuple[str, str]:
    chance = rng.random()
    if chance < 0.5:
        return places.in_town(rng)
    return places.at_home(rng) if chance < 0.75 else places.beside(rng)


_MISLAID = "belongings device pairs press animal"


def locate(rng: Random) -> tuple[str, str]:
    """Say or ask where somebody or something is (estar)."""
    person = rng.random() < 0.5
    who = people.subject(rng) if person else known_thing(rng, _MISLAID)
    if rng.random() < 0.3:
        if not person:
            who = rng.choice((who, known_thing(rng, "place transport")))
        form, _, _ = english_auxiliary(BE, "present", who.person, who.plural)
        is_ = spanish_verb_group(BE_IN_A_STATE, "present", who.person)
        return finish(
            Clause(f"where {form} {who.english}", join_words("dónde", is_, who.spanish)), "?"
        )
    where = rng.choice((places.in_town, places.at_home) if person else (_where, places.beside))(rng)
    tense = rng.choice(("present", "present", "past", "future"))
    negative = rng.random() < 0.2
    return finish(being(rng, who, BE_IN_A_STATE, tense, negative, Clause(*where)))


def origin(rng: Random) -> tuple[str, str]:
    """Say or ask where somebody comes from, lives or what they are called."""
    who = people.subject(rng)
    city = rng.choice(CITIES)
    chance = rng.random()
    if chance < 0.3:
        rest = Clause(f"from {city[0]}", f"de {city[1]}")
        return finish(being(rng, who, BE, "present", rng.random() < 0.2, rest))
    if chance < 0.65:
        live = Predicate(verb("live", "vivir"), f"in {city[0]}", f"en {city[1]}")
        tense = rng.choice(("present", "present", "used to", "want", "future", "going to"))
        negative = tense != "used to" and rng.random() < 0.2
        return finish(statement(rng, who, live, tense, negative))
    if chance < 0.8:
        auxiliary, rest_, _ = english_auxiliary(verb("live", "vivir"), "present", who.person, False)
        lives = spanish_verb_group(verb("live", "vivir"), "present", who.person)
        return finish(
            Clause(
                f"where {auxiliary} {who.english} {rest_}",
                join_words("dónde", lives, who.spanish),
            ),
            "?",
        )
    relative = people.relative(rng, plural_too=False)
    name = people.named(rng)
    while name.feminine != relative.feminine:
        name = people.named(rng)
    return finish(
        Clause(
            f"{relative.english}'s name is {name.english}",
            f"{relative.spanish} se llama {name.spanish}",
        )
    )
