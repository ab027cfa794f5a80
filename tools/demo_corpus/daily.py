"""Sentences of the demo corpus about time, weather, ages, prices, commands and greetings.

Each pattern takes a random generator and returns a finished sentence in both languages.
"""

from random import Random

from tools.demo_corpus import english as demo_english
from tools.demo_corpus import noun_phrases as phrases
from tools.demo_corpus import people as people
from tools.demo_corpus import spanish as demo_spanish
from tools.demo_corpus.adverbials import DAYS, MONTHS, SEASONS, at_clock_time, clock_time
from tools.demo_corpus.clauses import Clause, finish
from tools.demo_corpus.noun_phrases import NounPhrase
from tools.demo_corpus.nouns import CITIES, MEN, NOUNS, THINGS, WOMEN
from tools.demo_corpus.phrases import PHRASES
from tools.demo_corpus.spanish import conjugate, with_preposition
from tools.demo_corpus.verb_groups import (
    contract,
    english_auxiliary,
    join_words,
    spanish_verb_group,
)
from tools.demo_corpus.verbs import BE, HAVE, TRANSFER, TRANSITIVE, verb

# English adjective or noun of the weather and the Spanish after hacer.
_WEATHER = (
    ("cold", "frío"),
    ("very cold", "mucho frío"),
    ("hot", "calor"),
    ("very hot", "mucho calor"),
    ("sunny", "sol"),
    ("windy", "viento"),
)
_FALLING = (verb("rain", "llover"), verb("snow", "nevar"))

_WEATHER_TIMES = {
    "present": (("today", "hoy"), ("now", "ahora"), *SEASONS),
    "past": (("yesterday", "ayer"), ("last week", "la semana pasada"), ("last night", "anoche")),
    "future": (
        ("tomorrow", "mañana"),
        ("next week", "la próxima semana"),
        ("tonight", "esta noche"),
    ),
}


def weather_clause(rng: Random, tense: str, placed: bool = True, passing: bool = True) -> Clause:
    """Return what the weather is, was or will be.

    Args:
        rng: source of every choice.
        tense: "present", "past" or "future".
        placed: names a city.
        passing: also "it is raining", beside "it rains".
    """
    where = ("", "")
    if placed:
        english, spanish = rng.choice(CITIES)
        where = (f"in {english}", f"en {spanish}")
    if rng.random() < 0.4:
        falling = rng.choice(_FALLING)
        forms = falling.english
        if tense == "present" and passing and rng.random() < 0.6:
            return Clause(
                join_words("it is", forms.gerund, where[0]),
                join_words("está", falling.spanish.gerund, where[1]),
            )
        form = {"present": forms.third, "past": forms.past, "future": f"will {forms.base}"}[tense]
        spanish = spanish_verb_group(falling, tense, demo_spanish.THIRD)
        return Clause(f"it {join_words(form, where[0])}", join_words(spanish, where[1]))
    english, spanish = rng.choice(_WEATHER)
    form = {"present": "is", "past": "was", "future": "will be"}[tense]
    makes = getattr(conjugate("hacer"), tense)[demo_spanish.THIRD]
    return Clause(join_words("it", form, english, where[0]), join_words(makes, spanish, where[1]))


def weather(rng: Random) -> tuple[str, str]:
    """Say what the weather is like."""
    tense = rng.choice(("present", "present", "past", "future"))
    clause = weather_clause(rng, tense, placed=rng.random() < 0.7)
    time = ("", "")
    if rng.random() < 0.7:
        times = _WEATHER_TIMES[tense]
        if clause.english.startswith(("it is raining", "it is snowing")):
            times = times[:2]
        elif clause.english.startswith(("it rains", "it snows")):
            times = SEASONS
        time = rng.choice(times)
    return finish(Clause(join_words(clause.english, time[0]), join_words(clause.spanish, time[1])))


def tell_time(rng: Random) -> tuple[str, str]:
    """Tell the time, the day or the date."""
    chance = rng.random()
    if chance < 0.5:
        english, spanish = clock_time(rng)
        is_ = "es" if spanish.startswith("la ") else "son"
        return finish(Clause(f"it is {english}", f"{is_} {spanish}"))
    if chance < 0.75:
        day, month = rng.randint(1, 31), rng.choice(MONTHS)
        return finish(Clause(f"today is {month[0]} {day}", f"hoy es el {day} de {month[1]}"))
    number = rng.randrange(len(DAYS))
    today, yesterday, tomorrow = DAYS[number], DAYS[number - 1], DAYS[(number + 1) % len(DAYS)]
    if chance < 0.88:
        return finish(
            Clause(
                f"tomorrow is {tomorrow[0]} because today is {today[0]}",
                f"mañana es {tomorrow[1]} porque hoy es {today[1]}",
            )
        )
    return finish(
        Clause(
            f"today is {today[0]} and yesterday was {yesterday[0]}",
            f"hoy es {today[1]} y ayer fue {yesterday[1]}",
        )
    )


def age(rng: Random) -> tuple[str, str]:
    """Say or ask how old somebody is (tener años)."""
    who = people.subject(rng)
    has = spanish_verb_group(HAVE, "present", who.person)
    form, _, _ = english_auxiliary(BE, "present", who.person, who.plural)
    if rng.random() < 0.25:
        question = Clause(
            f"how old {form} {who.english}", join_words("cuántos años", has, who.spanish)
        )
        return finish(question, "?")
    english, spanish = _number(rng, *((2, 17) if _is_young(who) else (18, 99)))
    return finish(
        Clause(
            f"{contract(rng, who, form)} {english} years old",
            join_words(who.spanish, has, spanish, "años"),
        )
    )


def _is_young(who: NounPhrase) -> bool:
    return any(word in _YOUNG for word in who.english.split())


_YOUNG = frozenset("boy boys girl girls child children son sons daughter daughters".split())


def _number(rng: Random, least: int, most: int) -> tuple[str, str]:
    """Return a number in words or in digits, to stand before a masculine noun."""
    number = rng.randint(least, most)
    if number < 100 and rng.random() < 0.35:
        return str(number), str(number)
    return demo_english.number_words(number), demo_spanish.number_words(number)


def price(rng: Random) -> tuple[str, str]:
    """Say or ask what something costs."""
    what = phrases.thing(rng, THINGS, definite=True, adjective=0.3)
    cost = verb("cost", "costar")
    auxiliary, _, plain = english_auxiliary(cost, "present", what.person, what.plural)
    costs = spanish_verb_group(cost, "present", what.person)
    chance = rng.random()
    if chance < 0.3:
        question = Clause(
            f"how much {auxiliary} {what.english} cost", f"cuánto {costs} {what.spanish}"
        )
        return finish(question, "?")
    english, spanish = _number(rng, 2, 100) if chance < 0.7 else _number(rng, 101, 1000)
    return finish(
        Clause(f"{what.english} {plain} {english} euros", f"{what.spanish} {costs} {spanish} euros")
    )


_COMMANDED = frozenset(
    "eat drink cook prepare cut buy sell read write wash clean open close paint repair".split()
)


def command(rng: Random) -> tuple[str, str]:
    """Tell or forbid somebody (tú) to do something."""
    please = rng.choice((("", ""), ("", ""), (", please", ", por favor")))
    negative = rng.random() < 0.35
    if rng.random() < 0.25 and not negative:
        giving = rng.choice(TRANSFER[:3])
        gift = phrases.thing(rng, giving.objects, definite=True)
        who = people.relative(rng)
        clitic = "les" if who.plural else "le"
        # Attached to a command of two syllables, the pronoun brings an accent: envíale, enséñale.
        form = _STRESSED[giving.verb.spanish.infinitive] + clitic
        return finish(
            Clause(
                f"{giving.verb.english.base} {gift.english} to {who.english}{please[0]}",
                f"{form} {gift.spanish} {people.to_person(who)}{please[1]}",
            )
        )
    action = rng.choice(TRANSITIVE)
    while action.verb.english.base not in _COMMANDED:
        action = rng.choice(TRANSITIVE)
    target = phrases.thing(rng, action.objects, definite=negative or rng.random() < 0.7)
    spanish = action.verb.spanish
    return finish(
        Clause(
            join_words("do not" if negative else "", action.verb.english.base, target.english)
            + please[0],
            join_words(f"no {spanish.prohibition}" if negative else spanish.command, target.spanish)
            + please[1],
        )
    )


_STRESSED = {"dar": "da", "enviar": "envía", "enseñar": "enséña"}

_GREETINGS = (
    ("Hello", "Hola"),
    ("Hi", "Hola"),
    ("Good morning", "Buenos días"),
    ("Good afternoon", "Buenas tardes"),
    ("Good evening", "Buenas noches"),
)
_SMALL_TALK = (
    ("how are you?", "¿cómo estás?"),
    ("how are you?", "¿cómo estás?"),
    ("how are you today?", "¿cómo estás hoy?"),
    ("how is your family?", "¿cómo está tu familia?"),
    ("how are your parents?", "¿cómo están tus padres?"),
    ("what is your name?", "¿cómo te llamas?"),
    ("where are you from?", "¿de dónde eres?"),
    ("it is nice to see you.", "me alegro de verte."),
    ("welcome to our house.", "te damos la bienvenida a nuestra casa."),
)
_REQUESTS = (
    ("what time is it?", "¿qué hora es?"),
    ("can you help me?", "¿puedes ayudarme?"),
    ("do you speak English?", "¿hablas inglés?"),
)


def greet(rng: Random) -> tuple[str, str]:
    """Greet somebody, mostly by name, and go on with small talk or a question for the way."""
    greeting, hail = rng.choice(_GREETINGS)
    name = rng.choice(WOMEN + MEN) if rng.random() < 0.85 else ""
    chance = rng.random()
    if chance < 0.6:
        english, spanish = rng.choice(_SMALL_TALK[:5] + _SMALL_TALK[7:] if name else _SMALL_TALK)
    else:
        if rng.random() < 0.6:
            greeting, hail = "Excuse me", "Perdona"
        english, spanish = rng.choice(_REQUESTS) if chance < 0.7 else _ask_the_way(rng)
    called = f", {name}" if name else ""
    return f"{greeting}{called}, {english}", f"{hail}{called}, {spanish}"


def address(rng: Random) -> tuple[str, str]:
    """Say an everyday phrase to somebody by name ("Thank you very much, Ana.")."""
    english, spanish = rng.choice(_TO_ANYBODY)
    name = rng.choice(WOMEN + MEN)
    return f"{english[:-1]}, {name}{english[-1]}", f"{spanish[:-1]}, {name}{spanish[-1]}"


# Of the phrases, those that agree with nobody in gender and number.
_TO_ANYBODY = tuple(pair for pair in PHRASES if pair[0] not in ("Welcome!", "Help!"))


def _ask_the_way(rng: Random) -> tuple[str, str]:
    place = phrases.determined(rng.choice(NOUNS["place"]), "the")
    if rng.random() < 0.5:
        return f"where is {place.english}?", f"¿dónde está {place.spanish}?"
    return (
        f"how do I get to {place.english}?",
        f"¿cómo llego {with_preposition('a', place.spanish)}?",
    )


def appointment(rng: Random) -> tuple[str, str]:
    """Say or ask when something begins, ends, leaves or opens."""
    english_noun, spanish_noun, english_verb, spanish_verb = rng.choice(_TIMETABLE)
    forms = verb(english_verb, spanish_verb)
    english, spanish = at_clock_time(rng)
    chance = rng.random()
    present, future = forms.spanish.present[2], forms.spanish.future[2]
    if chance < 0.3:
        return finish(
            Clause(
                f"what time does {english_noun} {english_verb}",
                f"a qué hora {present} {spanish_noun}",
            ),
            "?",
        )
    day_english, day_spanish = rng.choice(DAYS)
    if chance < 0.6:
        return finish(
            Clause(
                f"{english_noun} {forms.english.third} {english}",
                f"{spanish_noun} {present} {spanish}",
            )
        )
    return finish(
        Clause(
            f"on {day_english} {english_noun} will {english_verb} {english}",
            f"el {day_spanish} {spanish_noun} {future} {spanish}",
        )
    )


_TIMETABLE = tuple(
    (english, spanish, *action)
    for english, spanish, actions in (
        ("the train", "el tren", (("leave", "salir"), ("arrive", "llegar"))),
        ("the bus", "el autobús", (("leave", "salir"), ("arrive", "llegar"))),
        ("the plane", "el avión", (("leave", "salir"), ("arrive", "llegar"))),
        ("the class", "la clase", (("begin", "empezar"), ("end", "terminar"))),
        ("the movie", "la película", (("begin", "empezar"), ("end", "terminar"))),
        ("the match", "el partido", (("begin", "empezar"), ("end", "terminar"))),
        ("the shop", "la tienda", (("open", "abrir"), ("close", "cerrar"))),
        ("the bank", "el banco", (("open", "abrir"), ("close", "cerrar"))),
        ("the museum", "el museo", (("open", "abrir"), ("close", "cerrar"))),
    )
    for action in actions
)
