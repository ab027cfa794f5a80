"""When, how often and how: the adverbials of the demo corpus as (English, Spanish) pairs."""

from random import Random

from tools.demo_corpus import english as demo_english
from tools.demo_corpus import spanish as demo_spanish

DAYS = (
    ("Monday", "lunes"),
    ("Tuesday", "martes"),
    ("Wednesday", "miércoles"),
    ("Thursday", "jueves"),
    ("Friday", "viernes"),
    ("Saturday", "sábado"),
    ("Sunday", "domingo"),
)
MONTHS = (
    ("January", "enero"),
    ("February", "febrero"),
    ("March", "marzo"),
    ("April", "abril"),
    ("May", "mayo"),
    ("June", "junio"),
    ("July", "julio"),
    ("August", "agosto"),
    ("September", "septiembre"),
    ("October", "octubre"),
    ("November", "noviembre"),
    ("December", "diciembre"),
)
SEASONS = (
    ("in spring", "en primavera"),
    ("in summer", "en verano"),
    ("in autumn", "en otoño"),
    ("in winter", "en invierno"),
)

HABITUAL = (
    ("every day", "todos los días"),
    ("every morning", "todas las mañanas"),
    ("every week", "todas las semanas"),
    ("on weekends", "los fines de semana"),
    ("in the morning", "por la mañana"),
    ("in the afternoon", "por la tarde"),
    ("at night", "por la noche"),
)
PAST = (
    ("yesterday", "ayer"),
    ("last night", "anoche"),
    ("last week", "la semana pasada"),
    ("yesterday morning", "ayer por la mañana"),
    ("yesterday afternoon", "ayer por la tarde"),
)
FUTURE = (
    ("tomorrow", "mañana"),
    ("tonight", "esta noche"),
    ("next week", "la próxima semana"),
    ("tomorrow morning", "mañana por la mañana"),
    ("tomorrow afternoon", "mañana por la tarde"),
    ("this afternoon", "esta tarde"),
    ("soon", "pronto"),
)
# Times that suit only what takes long or happens seldom ("travel", "learn").
_LONG = {
    "present": (("every summer", "todos los veranos"), ("every year", "todos los años"), *SEASONS),
    "past": (("last month", "el mes pasado"), ("last year", "el año pasado")),
    "future": (
        ("next month", "el próximo mes"),
        ("next year", "el próximo año"),
        ("next summer", "el próximo verano"),
    ),
}
_LONG["used to"] = _LONG["present"]

RECENT = (
    ("today", "hoy"),
    ("this week", "esta semana"),
    ("this morning", "esta mañana"),
    ("many times", "muchas veces"),
)
NOW = (("now", "ahora"), ("right now", "ahora mismo"), ("at this moment", "en este momento"))

BEFORE_VERB = (
    ("always", "siempre"),
    ("never", "nunca"),
    ("usually", "normalmente"),
    ("sometimes", "a veces"),
)

MANNER = (
    ("well", "bien"),
    ("very well", "muy bien"),
    ("a lot", "mucho"),
    ("slowly", "despacio"),
    ("a little", "un poco"),
)


def clock_time(rng: Random) -> tuple[str, str]:
    """Return a time of day without preposition ("half past three", "las tres y media")."""
    hour = rng.randint(1, 12)
    english, spanish = demo_english.number_words(hour), demo_spanish.count_words(hour)
    article = "las"
    if hour == 1:
        article, spanish = "la", "una"
    style = rng.randrange(8)
    if style == 0:
        return f"half past {english}", f"{article} {spanish} y media"
    if style == 1:
        return f"a quarter past {english}", f"{article} {spanish} y cuarto"
    if style == 2:
        return f"a quarter to {english}", f"{article} {spanish} menos cuarto"
    if style == 3:
        return f"ten past {english}", f"{article} {spanish} y diez"
    return f"{english} o'clock", f"{article} {spanish}"


def at_clock_time(rng: Random) -> tuple[str, str]:
    """Return "at seven o'clock in the morning", "a las siete de la mañana" or without the half."""
    english, spanish = clock_time(rng)
    parts = _HALVES.get(english.rsplit(" ", 2)[-2 if english.endswith("o'clock") else -1])
    if parts is None or rng.random() < 0.5:
        return f"at {english}", f"a {spanish}"
    part = rng.choice(parts)
    return f"at {english} {part[0]}", f"a {spanish} {part[1]}"


_MORNING = ("in the morning", "de la mañana")
_AFTERNOON = ("in the afternoon", "de la tarde")
_NIGHT = ("at night", "de la noche")
_HALVES = {
    "two": (_AFTERNOON,),
    "three": (_AFTERNOON,),
    "four": (_AFTERNOON,),
    "five": (_AFTERNOON,),
    "six": (_MORNING, _AFTERNOON),
    "seven": (_MORNING, _AFTERNOON),
    "eight": (_MORNING,),
    "nine": (_MORNING, _NIGHT),
    "ten": (_MORNING, _NIGHT),
    "eleven": (_MORNING, _NIGHT),
}


def on_a_day(rng: Random) -> tuple[str, str]:
    """Return a weekday or a date to come ("on May 5", "el 5 de mayo")."""
    if rng.random() < 0.6:
        english, spanish = rng.choice(DAYS)
        if rng.random() < 0.3:
            return f"next {english}", f"el próximo {spanish}"
        return f"on {english}", f"el {spanish}"
    english, spanish = rng.choice(MONTHS)
    if rng.random() < 0.4:
        return f"in {english}", f"en {spanish}"
    day = rng.randint(1, 30)
    return f"on {english} {day}", f"el {day} de {spanish}"


def time_for(rng: Random, tense: str, long: bool = True) -> tuple[str, str]:
    """Return a time that suits a tense.

    Args:
        rng: source of every choice.
        tense: one of `clauses.TENSES`.
        long: also seasons, months and years, for what does not happen every day.
    """
    if tense == "perfect":
        return rng.choice(RECENT)
    if tense == "progressive":
        return rng.choice(NOW)
    kind = {"present": "present", "used to": "present", "past": "past", "had to": "past"}
    period = kind.get(tense, "future")
    if long and rng.random() < 0.3:
        if period == "past" and rng.random() < 0.3:
            year = rng.randint(2000, 2025)
            return f"in {year}", f"en {year}"
        return rng.choice(_LONG[period])
    return _SHORT[period](rng)


def _habitual(rng: Random) -> tuple[str, str]:
    chance = rng.random()
    if chance < 0.25:
        return at_clock_time(rng)
    if chance < 0.45:
        english, spanish = rng.choice(DAYS)
        return f"on {english}s", f"los {demo_spanish.pluralize(spanish)}"
    return rng.choice(HABITUAL)


def _past(rng: Random) -> tuple[str, str]:
    chance = rng.random()
    if chance < 0.15:
        count = rng.randint(2, 10)
        spanish = demo_spanish.number_words(count)
        return f"{demo_english.number_words(count)} days ago", f"hace {spanish} días"
    if chance < 0.3:
        english, spanish = rng.choice(DAYS)
        return f"last {english}", f"el {spanish} pasado"
    return rng.choice(PAST)


def _future(rng: Random) -> tuple[str, str]:
    chance = rng.random()
    if chance < 0.3:
        return on_a_day(rng)
    return at_clock_time(rng) if chance < 0.4 else rng.choice(FUTURE)


_SHORT = {"present": _habitual, "past": _past, "future": _future}
