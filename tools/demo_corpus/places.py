"""The places of the demo corpus: where something is or happens, and how one gets there.

Takes a random generator and returns an adverbial of place, as (English, Spanish).
"""

from random import Random

from tools.demo_corpus.adjectives import LEADING
from tools.demo_corpus.noun_phrases import NounPhrase, attribute, determined, kind_of
from tools.demo_corpus.nouns import CITIES, NOUNS, nouns_of
from tools.demo_corpus.spanish import with_preposition

TRAVEL = (
    ("by train", "en tren"),
    ("by car", "en coche"),
    ("by bus", "en autobús"),
    ("by plane", "en avión"),
)


_BESIDE = (
    ("on", "en"),
    ("under", "debajo de"),
    ("behind", "detrás de"),
    ("in front of", "delante de"),
    ("next to", "al lado de"),
    ("near", "cerca de"),
)


# Where each place is spoken of as a point rather than a space.
_AT = frozenset({"market", "school", "station", "restaurant", "airport", "university", "theater"})


def place_preposition(english_noun: str) -> str:
    """Return "at" or "in", both "en" in Spanish."""
    if english_noun == "beach":
        return "on"
    return "at" if english_noun in _AT else "in"


def place(rng: Random) -> tuple[str, NounPhrase]:
    """Return a place in town and its English preposition of rest ("at", the market)."""
    noun = rng.choice(NOUNS["place"])
    after = before = None
    chance = rng.random()
    if chance < 0.08:
        before = LEADING["other"]
    elif chance < 0.2:
        after = attribute(rng, noun)
    return place_preposition(noun.english), determined(noun, "the", after=after, before=before)


def in_town(rng: Random) -> tuple[str, str]:
    """Return where something happens out of the house ("at the market", "en Sevilla")."""
    if rng.random() < 0.3:
        english, spanish = rng.choice(CITIES)
        return f"in {english}", f"en {spanish}"
    preposition, where = place(rng)
    return f"{preposition} {where.english}", f"en {where.spanish}"


_PLACES = {noun.english: noun for noun in nouns_of("place room")}


def in_one_of(rng: Random, nouns: str) -> tuple[str, str]:
    """Return a place among those named, or a city."""
    if rng.random() < 0.25:
        english, spanish = rng.choice(CITIES)
        return f"in {english}", f"en {spanish}"
    name = rng.choice(nouns.split())
    where = determined(_PLACES[name], "the")
    return f"{place_preposition(name)} {where.english}", f"en {where.spanish}"


def at_home(rng: Random) -> tuple[str, str]:
    """Return where something happens in the house."""
    if rng.random() < 0.3:
        return "at home", "en casa"
    where = determined(rng.choice(NOUNS["room"]), "the")
    return f"in {where.english}", f"en {where.spanish}"


# Tables, chairs and beds.
_SUPPORTS = NOUNS["furniture"][:3]
# Nothing stands beside a star, the last of its kind.
_LANDMARKS = (NOUNS["furniture"], NOUNS["place"], NOUNS["road"], NOUNS["nature"][:-1])


def beside(rng: Random) -> tuple[str, str]:
    """Return a place by its neighbor ("under the bed", "debajo de la cama")."""
    english, spanish = rng.choice(_BESIDE)
    if english in ("on", "under"):
        noun = rng.choice(_SUPPORTS)
    else:
        noun = rng.choice(rng.choice(_LANDMARKS))
    owned = kind_of(noun) in ("furniture", "road") and rng.random() < 0.4
    thing = determined(noun, rng.choice(("my", "your")) if owned else "the")
    return f"{english} {thing.english}", with_preposition(spanish, thing.spanish)
