"""Sentences of the demo corpus about what people do: statements, questions, joined clauses.

Each pattern takes a random generator and returns a finished sentence in both languages.
"""

from random import Random

from tools.demo_corpus import noun_phrases as phrases
from tools.demo_corpus import people as people
from tools.demo_corpus.adverbials import time_for
from tools.demo_corpus.clauses import (
    Clause,
    Predicate,
    asked_with,
    finish,
    statement,
    verb_phrase,
    yes_no_question,
)
from tools.demo_corpus.daily import weather_clause
from tools.demo_corpus.descriptions import (
    describable,
    description_of,
    mood,
)
from tools.demo_corpus.noun_phrases import NounPhrase
from tools.demo_corpus.nouns import THINGS
from tools.demo_corpus.people import PRONOUNS
from tools.demo_corpus.predicates import (
    Doing,
    another_person,
    clause,
    doing,
    must_be_timed,
    object_of,
)
from tools.demo_corpus.spanish import join_with_and
from tools.demo_corpus.verb_groups import (
    TENSES,
    english_auxiliary,
    join_words,
    spanish_verb_group,
)
from tools.demo_corpus.verbs import HAVE, TOWARDS_PEOPLE, TRANSITIVE, verb


def state(rng: Random) -> tuple[str, str]:
    """State what somebody does or does not do; a time at the end may come first instead."""
    who = people.subject(rng)
    if rng.random() < 0.88:
        return finish(clause(rng, who, negative=rng.random() < 0.25))
    chosen = _timeable(rng, who, ("present", "past", "future", "going to"))
    time = time_for(rng, chosen.tense, chosen.long)
    made = statement(rng, who, chosen.predicate, chosen.tense)
    return finish(Clause(f"{time[0]} {made.english}", f"{time[1]} {made.spanish}"))


def _timeable(rng: Random, who: NounPhrase, tenses: tuple[str, ...]) -> Doing:
    chosen = doing(rng, who, tenses=tenses)
    while not chosen.timed:
        chosen = doing(rng, who, tenses=tenses)
    return chosen


ASKED_TENSES = tuple(tense for tense in TENSES if tense != "used to")


def ask(rng: Random) -> tuple[str, str]:
    """Ask whether somebody does something."""
    who = people.subject(rng)
    chosen = doing(rng, who, tenses=ASKED_TENSES)
    time = ("", "")
    if chosen.timed and rng.random() < 0.45:
        time = time_for(rng, chosen.tense, chosen.long)
    return finish(yes_no_question(who, chosen.predicate, chosen.tense, time), "?")


def ask_with_word(rng: Random) -> tuple[str, str]:
    """Ask where, when, why, what or who."""
    pattern = rng.choice((_ask_circumstance, _ask_circumstance, _ask_what, _ask_who, _ask_whom))
    return finish(pattern(rng), "?")


def _ask_circumstance(rng: Random) -> Clause:
    who = people.subject(rng)
    word = rng.choice((("why", "por qué"), ("when", "cuándo"), ("where", "dónde")))
    if word[0] == "where":
        action = rng.choice(TRANSITIVE)
        while "town" not in action.adjuncts:
            action = rng.choice(TRANSITIVE)
        target = object_of(rng, action.objects)
        predicate = Predicate(action.verb, target.english, target.spanish)
        tense = rng.choice(("present", "past", "want", "can", "going to"))
        return asked_with(word, who, predicate, tense)
    tenses: tuple[str, ...] = ("past", "future", "going to", "want", "have to")
    if word[0] == "why":
        tenses += ("present", "progressive")
    chosen = _timeable(rng, who, tenses)
    return asked_with(word, who, chosen.predicate, chosen.tense)


def _ask_what(rng: Random) -> Clause:
    who = people.subject(rng)
    verbs = ("eat", "drink", "cook", "buy", "read", "write", "look for", "study")
    action = rng.choice(TRANSITIVE)
    while action.verb.english.base not in verbs:
        action = rng.choice(TRANSITIVE)
    tense = rng.choice(("present", "past", "want", "going to", "progressive", "have to"))
    return asked_with(("what", "qué"), who, Predicate(action.verb), tense)


def _ask_who(rng: Random) -> Clause:
    """Ask for the subject: the verb stands in the third person, in the order of a statement."""
    chosen = doing(rng, _WHO, tenses=ASKED_TENSES)
    made = verb_phrase(chosen.predicate, _WHO, chosen.tense)
    return Clause(f"who {made.english}", f"quién {made.spanish}")


_WHO = NounPhrase("who", "quién")


def _ask_whom(rng: Random) -> Clause:
    """Ask for a person as object, with its "a" in front ("¿a quién buscas?")."""
    who = people.subject(rng)
    action = rng.choice(TOWARDS_PEOPLE)
    tense = rng.choice(("present", "present", "want", "going to", "have to"))
    if action.verb.english.base in ("know", "love"):
        tense = "present"
    return asked_with(("who", "a quién"), who, Predicate(action.verb), tense)


def again(who: NounPhrase) -> NounPhrase:
    """Return the pronoun for a subject named before; Spanish leaves it out."""
    return NounPhrase(who.pronoun, "", who.person, feminine=who.feminine, pronoun=who.pronoun)


def join(rng: Random) -> tuple[str, str]:
    """Join two clauses with and, but, because, when, if, while or that."""
    pattern = rng.choice(
        (_and_then, _and_then, _because_of_mood, _because_of_deed, _but, _but, _while, _if, _when)
        + (_that, _that)
    )
    return finish(pattern(rng))


def _and_then(rng: Random) -> Clause:
    """One subject, two deeds: "Ana gets up early and reads the newspaper"."""
    who = people.subject(rng)
    tense = rng.choice(("present", "past", "past", "future", "going to"))
    first, second = (_timeable(rng, who, (tense,)) for _ in range(2))
    while second.predicate.verb == first.predicate.verb:
        second = _timeable(rng, who, (tense,))
    time = ("", "")
    if must_be_timed(first, who, False) or must_be_timed(second, who, False) or rng.random() < 0.3:
        time = time_for(rng, tense, first.long and second.long)
    head = statement(rng, who, first.predicate, tense)
    rest = verb_phrase(second.predicate, who, tense)
    return Clause(
        join_words(head.english, "and", rest.english, time[0]),
        join_words(join_with_and(head.spanish, rest.spanish), time[1]),
    )


def _because_of_mood(rng: Random) -> Clause:
    who = people.subject(rng)
    tense = rng.choice(("want", "can", "going to", "present"))
    deed = clause(rng, who, tense, negative=True, timed=0.2)
    reason = mood(rng, again(who), known_subject=True, hindering=True)
    return Clause(
        f"{deed.english} because {reason.english}", f"{deed.spanish} porque {reason.spanish}"
    )


def _because_of_deed(rng: Random) -> Clause:
    who = people.subject(rng)
    feeling = mood(rng, who)
    tense = rng.choice(("past", "have to", "perfect", "can"))
    deed = clause(rng, again(who), tense, tense == "can", known_subject=True, timed=0.2)
    return Clause(
        f"{feeling.english} because {deed.english}", f"{feeling.spanish} porque {deed.spanish}"
    )


_MISSING = (("time", "tiempo"), ("money", "dinero"))


def _but(rng: Random) -> Clause:
    who = people.subject(rng)
    chance = rng.random()
    if chance < 0.3:
        one, other = PRONOUNS[rng.randrange(6)], another_person(rng, who)
        tense = rng.choice(("present", "past", "future", "want", "can"))
        first = clause(rng, one, tense, timed=0.1)
        second = clause(rng, other, tense, negative=rng.random() < 0.4, timed=0.1)
        return Clause(
            f"{first.english}, but {second.english}", f"{first.spanish}, pero {second.spanish}"
        )
    wish = clause(rng, who, "want", timed=0.2)
    if chance < 0.6:
        english, spanish = rng.choice(_MISSING)
        lack = Predicate(HAVE, english, spanish)
        obstacle = statement(rng, again(who), lack, negative=True, known_subject=True)
    elif chance < 0.8:
        obstacle = mood(rng, again(who), known_subject=True, hindering=True)
    else:
        obstacle = clause(rng, again(who), "have to", known_subject=True, timed=0.1)
    return Clause(
        f"{wish.english}, but {obstacle.english}", f"{wish.spanish}, pero {obstacle.spanish}"
    )


def _while(rng: Random) -> Clause:
    first, second = people.subject(rng), people.person(rng)
    while second.english in first.english or first.english in second.english:
        second = people.person(rng)
    one = clause(rng, first, "progressive", timed=0.0)
    other = clause(rng, second, "progressive", timed=0.0)
    return Clause(f"{one.english} while {other.english}", f"{one.spanish} mientras {other.spanish}")


def _if(rng: Random) -> Clause:
    who = people.subject(rng)
    result = clause(rng, who, "future", negative=rng.random() < 0.3, timed=0.0)
    if rng.random() < 0.5:
        condition = weather_clause(rng, "present", placed=False, passing=False)
        english, spanish = f"{condition.english} tomorrow", f"{condition.spanish} mañana"
    else:
        english, spanish = rng.choice(_MISSING)
        has = statement(rng, who, Predicate(HAVE, english, spanish))
        english, spanish = has.english, has.spanish
        result = clause(rng, again(who), "future", known_subject=True, timed=0.0)
    return Clause(f"if {english}, {result.english}", f"si {spanish}, {result.spanish}")


def _when(rng: Random) -> Clause:
    who = people.subject(rng)
    if rng.random() < 0.4:
        condition = weather_clause(rng, "present", placed=False, passing=False)
        habit = clause(rng, who, "present", negative=rng.random() < 0.3, timed=0.0)
        return Clause(
            f"when {condition.english}, {habit.english}",
            f"cuando {condition.spanish}, {habit.spanish}",
        )
    arrive = Predicate(verb("arrive", "llegar"), "home", "a casa")
    tense = rng.choice(("present", "past"))
    arriving = statement(rng, who, arrive, tense)
    habit = clause(rng, again(who), tense, known_subject=True, timed=0.0)
    return Clause(
        f"when {arriving.english}, {habit.english}", f"cuando {arriving.spanish}, {habit.spanish}"
    )


_SAYING = (verb("think", "creer"), verb("say", "decir"), verb("know", "saber"))


def _that(rng: Random) -> Clause:
    who = people.subject(rng)
    head = statement(rng, who, Predicate(rng.choice(_SAYING)))
    if rng.random() < 0.5:
        content = description_of(rng, describable(rng, pronouns=False))
    else:
        content = clause(rng, another_person(rng, who), timed=0.3)
    if content.english.startswith("that "):
        return _that(rng)
    return Clause(f"{head.english} that {content.english}", f"{head.spanish} que {content.spanish}")


def relate(rng: Random) -> tuple[str, str]:
    """Say something of a person "who" does something or of a thing "that" somebody did."""
    if rng.random() < 0.5:
        who = people.someone(rng)
        chosen = _timeable(rng, who, ("present", "progressive", "perfect"))
        relative = verb_phrase(chosen.predicate, who, chosen.tense)
        subject = NounPhrase(
            f"{who.english} who {relative.english}",
            f"{who.spanish} que {relative.spanish}",
            who.person,
            who.feminine,
        )
        if must_be_timed(chosen, who, False):
            return relate(rng)
        return finish(mood(rng, subject))
    doer = people.subject(rng)
    action = rng.choice(TRANSITIVE)
    while action.verb.english.base not in ("buy", "sell", "lose", "find", "wash", "paint", "need"):
        action = rng.choice(TRANSITIVE)
    kinds = " ".join(kind for kind in action.objects.split() if kind in THINGS.split())
    what = phrases.thing(rng, kinds or THINGS, definite=True, adjective=0.1)
    while what.english.startswith(("this", "these", "my", "your", "his", "her", "our", "their")):
        what = phrases.thing(rng, kinds or THINGS, definite=True, adjective=0.1)
    tense = "present" if action.verb.english.base == "need" else "past"
    _, _, plain = english_auxiliary(action.verb, tense, doer.person, doer.plural)
    group = spanish_verb_group(action.verb, tense, doer.person)
    subject = NounPhrase(
        f"{what.english} that {doer.english} {plain}",
        join_words(what.spanish, "que", doer.spanish, group),
        what.person,
        what.feminine,
        kind=what.kind,
    )
    return finish(description_of(rng, subject))
