"""Clauses of the demo corpus: statements and questions, with each language's word order.

Takes a subject and a `Predicate` and returns a `Clause` without capital and full stop.
"""

from dataclasses import dataclass
from random import Random

from tools.demo_corpus.noun_phrases import NounPhrase
from tools.demo_corpus.verb_groups import (
    contract,
    english_auxiliary,
    join_words,
    negate,
    spanish_verb_group,
)
from tools.demo_corpus.verbs import Verb


@dataclass(frozen=True)
class Clause:
    """A clause in both languages, without capital letter and final punctuation."""

    english: str
    spanish: str


@dataclass(frozen=True)
class Predicate:
    """A verb with all that follows it, apart from time.

    Attributes:
        verb: the verb in both languages.
        english: what follows the English verb.
        spanish: what follows the Spanish verb.
        clitic: an unstressed Spanish object pronoun ("la", "les"), or "".
    """

    verb: Verb
    english: str = ""
    spanish: str = ""
    clitic: str = ""


def statement(
    rng: Random,
    subject: NounPhrase,
    predicate: Predicate,
    tense: str = "present",
    negative: bool = False,
    time: tuple[str, str] = ("", ""),
    before_verb: tuple[str, str] = ("", ""),
    known_subject: bool = False,
) -> Clause:
    """Build a statement.

    Args:
        rng: decides only on English contractions.
        subject: who or what; its pronoun agrees with the verb.
        predicate: verb and complements.
        tense: one of `TENSES`.
        negative: adds "not" and "no".
        time: an adverbial for the end, in both languages.
        before_verb: an adverb before the main verb ("always", "siempre").
        known_subject: Spanish leaves the subject out, as English says it with a pronoun again.
    """
    plain, negated = _english_verb_group(rng, subject, predicate.verb, tense, before_verb[0])
    words = negated if negative else plain
    spanish_subject = "" if known_subject else subject.spanish
    return Clause(
        join_words(contract(rng, subject, words), predicate.english, time[0]),
        join_words(
            spanish_subject,
            before_verb[1],
            spanish_verb_group(predicate.verb, tense, subject.person, negative, predicate.clitic),
            predicate.spanish,
            time[1],
        ),
    )


def _english_verb_group(
    rng: Random, subject: NounPhrase, verb: Verb, tense: str, adverb: str
) -> tuple[str, str]:
    auxiliary, rest, plain = english_auxiliary(verb, tense, subject.person, subject.plural)
    if adverb and verb.english.base == "be":
        plain = f"{plain} {adverb}"
    elif adverb and tense == "perfect":
        plain = f"{auxiliary} {adverb} {rest}"
    elif adverb:
        plain = f"{adverb} {plain}"
    return plain, join_words(negate(rng, auxiliary), rest)


def verb_phrase(
    predicate: Predicate, subject: NounPhrase, tense: str, time: tuple[str, str] = ("", "")
) -> Clause:
    """Build an affirmative verb phrase without its subject, to follow "and"."""
    _, _, plain = english_auxiliary(predicate.verb, tense, subject.person, subject.plural)
    spanish = spanish_verb_group(predicate.verb, tense, subject.person, False, predicate.clitic)
    return Clause(
        join_words(plain, predicate.english, time[0]),
        join_words(spanish, predicate.spanish, time[1]),
    )


def yes_no_question(
    subject: NounPhrase, predicate: Predicate, tense: str, time: tuple[str, str] = ("", "")
) -> Clause:
    """Build a question without question marks; Spanish keeps the order of the statement."""
    auxiliary, rest, _ = english_auxiliary(predicate.verb, tense, subject.person, subject.plural)
    return Clause(
        join_words(auxiliary, subject.english, rest, predicate.english, time[0]),
        join_words(
            subject.spanish,
            spanish_verb_group(predicate.verb, tense, subject.person, False, predicate.clitic),
            predicate.spanish,
            time[1],
        ),
    )


def asked_with(
    word: tuple[str, str],
    subject: NounPhrase,
    predicate: Predicate,
    tense: str,
    time: tuple[str, str] = ("", ""),
) -> Clause:
    """Build a question with a question word; in Spanish the subject follows the verb."""
    auxiliary, rest, _ = english_auxiliary(predicate.verb, tense, subject.person, subject.plural)
    return Clause(
        join_words(word[0], auxiliary, subject.english, rest, predicate.english, time[0]),
        join_words(
            word[1],
            spanish_verb_group(predicate.verb, tense, subject.person, False, predicate.clitic),
            subject.spanish,
            predicate.spanish,
            time[1],
        ),
    )


def being(
    rng: Random,
    who: NounPhrase,
    to_be: Verb,
    tense: str,
    negative: bool,
    rest: Clause,
    known_subject: bool = False,
) -> Clause:
    """Build "is", "was" or "will be"; a past description is the Spanish imperfect."""
    auxiliary, after, plain = english_auxiliary(to_be, tense, who.person, who.plural)
    words = join_words(negate(rng, auxiliary), after) if negative else plain
    spanish_tense = "used to" if tense == "past" else tense
    return Clause(
        f"{contract(rng, who, words)} {rest.english}",
        join_words(
            "" if known_subject else who.spanish,
            spanish_verb_group(to_be, spanish_tense, who.person, negative),
            rest.spanish,
        ),
    )


def finish(clause: Clause, mark: str = ".") -> tuple[str, str]:
    """Give a clause its capital letters and its marks; "?" and "!" also open in Spanish."""
    opening = {"?": "¿", "!": "¡"}.get(mark, "")
    english, spanish = clause.english, clause.spanish
    return (
        english[0].upper() + english[1:] + mark,
        opening + spanish[0].upper() + spanish[1:] + mark,
    )
