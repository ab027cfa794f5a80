"""What the demo grammar renders: English and Spanish sentences checked by hand."""

import random

import pytest

from tools.demo_corpus import daily, people, places
from tools.demo_corpus.adjectives import ADJECTIVES, LEADING
from tools.demo_corpus.adverbials import time_for
from tools.demo_corpus.clauses import (
    Clause,
    Predicate,
    asked_with,
    being,
    finish,
    statement,
    verb_phrase,
    yes_no_question,
)
from tools.demo_corpus.noun_phrases import NounPhrase, any_thing, determined
from tools.demo_corpus.nouns import NOUNS
from tools.demo_corpus.people import PRONOUNS, to_person
from tools.demo_corpus.predicates import Doing, must_be_timed
from tools.demo_corpus.verb_groups import TENSES
from tools.demo_corpus.verbs import BE, BE_IN_A_STATE, verb

NOUN = {noun.english: noun for nouns in NOUNS.values() for noun in nouns}
ADJECTIVE = {one.english: one for group in ADJECTIVES.values() for one in group}
I, YOU, HE, SHE, WE, THEY = PRONOUNS  # noqa: E741
ANA = NounPhrase("Ana", "Ana", feminine=True, pronoun="she")


class PlainRandom(random.Random):
    """Never contracts: "do not" rather than "don't"."""

    def random(self):
        return 0.999


@pytest.fixture
def plain():
    return PlainRandom(0)


def phrase(determiner, noun, plural=False, after=None, before=None):
    return determined(
        NOUN[noun], determiner, plural, after and ADJECTIVE[after], before and LEADING[before]
    )


@pytest.mark.parametrize(
    ("arguments", "english", "spanish"),
    [
        (("the", "house", True, "red"), "the red houses", "las casas rojas"),
        (("a", "car", False, "blue"), "a blue car", "un coche azul"),
        (("these", "shoe", True, "white"), "these white shoes", "estos zapatos blancos"),
        (("that", "song", False, "long"), "that long song", "esa canción larga"),
        (("my", "skirt", True, "gray"), "my gray skirts", "mis faldas grises"),
        (("our", "key", True), "our keys", "nuestras llaves"),
        (("their", "dog", False), "their dog", "su perro"),
        (("the", "problem", True, "easy"), "the easy problems", "los problemas fáciles"),
        (("the", "water", False, "cold"), "the cold water", "el agua fría"),
        (("this", "water"), "this water", "esta agua"),
        (("the", "classroom"), "the classroom", "el aula"),
        (("the", "classroom", True), "the classrooms", "las aulas"),
        (("the", "classroom", False, None, "last"), "the last classroom", "la última aula"),
        (("a", "classroom", False, "big"), "a big classroom", "un aula grande"),
        (("a", "book", False, None, "good"), "a good book", "un buen libro"),
        (("a", "story", False, None, "bad"), "a bad story", "una mala historia"),
        (("the", "lesson", False, None, "first"), "the first lesson", "la primera lección"),
        (("the", "exercise", False, None, "first"), "the first exercise", "el primer ejercicio"),
        (("my", "friend", False, None, "best"), "my best friend", "mi mejor amigo"),
        (("all the", "flower", True), "all the flowers", "todas las flores"),
        (("another", "umbrella"), "another umbrella", "otro paraguas"),
        (("many", "umbrella", True), "many umbrellas", "muchos paraguas"),
        (("a", "egg"), "an egg", "un huevo"),
        (("a", "university", False, "old"), "an old university", "una universidad vieja"),
        (("the", "woman", True, "German"), "the German women", "las mujeres alemanas"),
        (("those", "girl", True, "young"), "those young girls", "esas chicas jóvenes"),
        (("the", "pencil", True, "brown"), "the brown pencils", "los lápices marrones"),
        (("some", "photo", True), "some photos", "unas fotos"),
    ],
)
def test_noun_phrases_agree(arguments, english, spanish):
    built = phrase(*arguments)
    assert (built.english, built.spanish) == (english, spanish)


@pytest.mark.parametrize(
    ("noun", "negative", "english", "spanish"),
    [
        ("apple", True, "any apples", "ninguna manzana"),
        ("book", True, "any books", "ningún libro"),
        ("key", False, "any keys", "alguna llave"),
        ("milk", True, "any milk", "leche"),
    ],
)
def test_any_is_singular_in_spanish(noun, negative, english, spanish, monkeypatch):
    rng = random.Random(0)
    monkeypatch.setattr(rng, "choice", lambda nouns: NOUN[noun])
    built = any_thing(rng, "fruit", negative)
    assert (built.english, built.spanish) == (english, spanish)


BUY_BREAD = Predicate(verb("buy", "comprar"), "bread", "pan")
SEE_HER = Predicate(verb("see", "ver"), "her", "", clitic="la")
GIVE_BOOK = Predicate(
    verb("give", "dar"), "a book to the doctor", "un libro al médico", clitic="le"
)
GET_UP = Predicate(verb("get up", "levantarse"))
SEE_QUEEN = Predicate(verb("see", "ver"), "the queen", to_person(phrase("the", "queen")), clitic="")
CALL_DOCTOR = Predicate(verb("call", "llamar"), "the doctor", to_person(phrase("the", "doctor")))


@pytest.mark.parametrize(
    ("subject", "predicate", "tense", "negative", "english", "spanish"),
    [
        (I, BUY_BREAD, "present", False, "I buy bread", "compro pan"),
        (I, BUY_BREAD, "present", True, "I do not buy bread", "no compro pan"),
        (ANA, BUY_BREAD, "present", False, "Ana buys bread", "Ana compra pan"),
        (SHE, BUY_BREAD, "past", False, "she bought bread", "ella compró pan"),
        (THEY, BUY_BREAD, "past", True, "they did not buy bread", "ellos no compraron pan"),
        (WE, BUY_BREAD, "future", False, "we will buy bread", "compraremos pan"),
        (WE, BUY_BREAD, "used to", False, "we used to buy bread", "comprábamos pan"),
        (YOU, BUY_BREAD, "going to", False, "you are going to buy bread", "vas a comprar pan"),
        (HE, BUY_BREAD, "progressive", False, "he is buying bread", "él está comprando pan"),
        (HE, BUY_BREAD, "perfect", True, "he has not bought bread", "él no ha comprado pan"),
        (YOU, BUY_BREAD, "want", True, "you do not want to buy bread", "no quieres comprar pan"),
        (ANA, BUY_BREAD, "can", True, "Ana cannot buy bread", "Ana no puede comprar pan"),
        (ANA, BUY_BREAD, "have to", False, "Ana has to buy bread", "Ana tiene que comprar pan"),
        (I, BUY_BREAD, "had to", False, "I had to buy bread", "tuve que comprar pan"),
        (I, SEE_HER, "present", True, "I do not see her", "no la veo"),
        (I, SEE_HER, "want", False, "I want to see her", "quiero verla"),
        (I, SEE_HER, "perfect", False, "I have seen her", "la he visto"),
        (
            HE,
            GIVE_BOOK,
            "past",
            False,
            "he gave a book to the doctor",
            "él le dio un libro al médico",
        ),
        (
            WE,
            GIVE_BOOK,
            "going to",
            True,
            "we are not going to give a book to the doctor",
            "no vamos a darle un libro al médico",
        ),
        (I, GET_UP, "present", False, "I get up", "me levanto"),
        (WE, GET_UP, "can", True, "we cannot get up", "no podemos levantarnos"),
        (THEY, GET_UP, "progressive", False, "they are getting up", "ellos se están levantando"),
        (YOU, GET_UP, "past", True, "you did not get up", "no te levantaste"),
        (THEY, SEE_QUEEN, "present", False, "they see the queen", "ellos ven a la reina"),
        (I, CALL_DOCTOR, "past", False, "I called the doctor", "llamé al médico"),
    ],
)
def test_statements(plain, subject, predicate, tense, negative, english, spanish):
    assert statement(plain, subject, predicate, tense, negative) == Clause(english, spanish)


def test_every_tense_is_rendered_differently_in_both_languages(plain):
    clauses = [statement(plain, ANA, BUY_BREAD, tense) for tense in TENSES]
    assert len({clause.english for clause in clauses}) == len(TENSES)
    assert len({clause.spanish for clause in clauses}) == len(TENSES)


@pytest.mark.parametrize(
    ("adverb", "english", "spanish"),
    [
        (("always", "siempre"), "Ana always buys bread", "Ana siempre compra pan"),
        (("never", "nunca"), "Ana never buys bread", "Ana nunca compra pan"),
    ],
)
def test_adverbs_before_the_verb(plain, adverb, english, spanish):
    built = statement(plain, ANA, BUY_BREAD, before_verb=adverb)
    assert built == Clause(english, spanish)


def test_english_contracts_where_spanish_does_not():
    rng = PlainRandom(0)
    rng.random = lambda: 0.0
    assert statement(rng, I, BUY_BREAD, negative=True).english == "I don't buy bread"
    assert statement(rng, ANA, BUY_BREAD, "can", negative=True).english == "Ana can't buy bread"
    assert statement(rng, WE, BUY_BREAD, "going to").english == "we're going to buy bread"
    assert statement(rng, ANA, BUY_BREAD, "progressive").english == "Ana is buying bread"


@pytest.mark.parametrize(
    ("clause", "pair"),
    [
        (
            yes_no_question(YOU, Predicate(verb("have", "tener"), "a dog", "un perro"), "present"),
            ("Do you have a dog?", "¿Tienes un perro?"),
        ),
        (
            yes_no_question(ANA, BUY_BREAD, "past", ("yesterday", "ayer")),
            ("Did Ana buy bread yesterday?", "¿Ana compró pan ayer?"),
        ),
        (
            yes_no_question(THEY, SEE_HER, "going to"),
            ("Are they going to see her?", "¿Ellos van a verla?"),
        ),
        (
            asked_with(("where", "dónde"), ANA, BUY_BREAD, "present"),
            ("Where does Ana buy bread?", "¿Dónde compra Ana pan?"),
        ),
        (
            asked_with(("why", "por qué"), YOU, GET_UP, "progressive"),
            ("Why are you getting up?", "¿Por qué te estás levantando?"),
        ),
        (
            asked_with(("what", "qué"), SHE, Predicate(verb("eat", "comer")), "want"),
            ("What does she want to eat?", "¿Qué quiere comer ella?"),
        ),
        (
            asked_with(("who", "a quién"), I, Predicate(verb("look for", "buscar")), "present"),
            ("Who do I look for?", "¿A quién busco?"),
        ),
    ],
)
def test_questions(clause, pair):
    assert finish(clause, "?") == pair


@pytest.mark.parametrize(
    ("subject", "to_be", "tense", "negative", "rest", "english", "spanish"),
    [
        (SHE, BE_IN_A_STATE, "present", False, ("tired", "cansada"), "she is", "ella está"),
        (WE, BE_IN_A_STATE, "past", True, ("sad", "tristes"), "we were not", "no estábamos"),
        (ANA, BE, "past", False, ("tall", "alta"), "Ana was", "Ana era"),
        (I, BE, "present", True, ("rich", "rico"), "I am not", "no soy"),
        (THEY, BE_IN_A_STATE, "future", False, ("here", "aquí"), "they will be", "ellos estarán"),
        (YOU, BE, "past", False, ("young", "joven"), "you were", "eras"),
    ],
)
def test_to_be_is_ser_or_estar(plain, subject, to_be, tense, negative, rest, english, spanish):
    built = being(plain, subject, to_be, tense, negative, Clause(*rest))
    assert built == Clause(f"{english} {rest[0]}", f"{spanish} {rest[1]}")


def test_a_verb_phrase_leaves_the_subject_out():
    assert verb_phrase(BUY_BREAD, ANA, "present") == Clause("buys bread", "compra pan")


@pytest.mark.parametrize(
    ("subject", "tense", "negative", "expected"),
    [
        (I, "present", False, True),
        (THEY, "past", False, True),
        (ANA, "present", False, False),
        (I, "past", True, False),
        (I, "future", False, False),
    ],
)
def test_read_needs_a_time_where_present_and_past_look_alike(subject, tense, negative, expected):
    reading = Doing(Predicate(verb("read", "leer"), "the letter", "la carta"), tense)
    assert must_be_timed(reading, subject, negative) is expected
    assert must_be_timed(Doing(BUY_BREAD, tense), subject, negative) is False


def test_times_of_the_present_and_the_past_never_meet():
    rng = random.Random(0)
    times = {
        tense: {time_for(rng, tense)[0] for _ in range(2_000)} for tense in ("present", "past")
    }
    assert not times["present"] & times["past"]


def test_owners_follow_what_they_own(monkeypatch):
    rng = random.Random(5)
    for _ in range(200):
        held = people.owned(rng, "clothes room")
        assert "'" in held.english
        assert " de " in held.spanish
        assert "de el " not in held.spanish


def test_two_people_are_joined_with_e_before_i():
    rng = random.Random(1)
    drawn = {(two.english, two.spanish) for two in (people.two_people(rng) for _ in range(3_000))}
    assert ("Luis and Isabel", "Luis e Isabel") in drawn
    assert ("Ana and I", "Ana y yo") in drawn


def test_places_contract_after_the_preposition():
    rng = random.Random(2)
    drawn = {places.beside(rng) for _ in range(3_000)}
    assert ("near the museum", "cerca del museo") in drawn
    assert ("behind the church", "detrás de la iglesia") in drawn


@pytest.mark.parametrize(
    ("pattern", "english", "spanish"),
    [
        ("tell_time", "It is one o'clock.", "Es la una."),
        ("tell_time", "It is half past three.", "Son las tres y media."),
        ("tell_time", "It is a quarter to one.", "Es la una menos cuarto."),
        ("greet", "Hello, Ana, how are you?", "Hola, Ana, ¿cómo estás?"),
        (
            "greet",
            "Excuse me, how do I get to the market?",
            "Perdona, ¿cómo llego al mercado?",
        ),
        ("weather", "It is raining in Madrid.", "Está lloviendo en Madrid."),
        ("weather", "It was cold in Rome yesterday.", "Hizo frío en Roma ayer."),
        ("age", "I am thirty-one years old.", "Tengo treinta y un años."),
        ("age", "How old are you?", "¿Cuántos años tienes?"),
    ],
)
def test_daily_sentences(pattern, english, spanish):
    rng = random.Random(0)
    drawn = dict(getattr(daily, pattern)(rng) for _ in range(20_000))
    assert drawn[english] == spanish
