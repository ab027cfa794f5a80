"""The verbs of the demo corpus and what they go with: objects, fixed complements, places.

An `Action` is a verb in both languages with the kinds of noun it takes and what may follow it.
"""

from dataclasses import dataclass
from functools import cache

from tools.demo_corpus.english import VerbForms, verb_forms
from tools.demo_corpus.spanish import Conjugation, conjugate


@dataclass(frozen=True)
class Verb:
    """One verb in both languages; a reflexive one carries a pronoun in Spanish only."""

    english: VerbForms
    spanish: Conjugation
    reflexive: bool = False


@dataclass(frozen=True)
class Action:
    """What somebody can do.

    Attributes:
        verb: the verb in both languages.
        objects: kinds of noun for the direct object, or "" for none; "who" is any person.
        english: a fixed complement ("football").
        spanish: its translation, with its preposition ("al fútbol").
        adjuncts: what may follow, of "town", "outdoors", "shops", "table", "home",
            "with", "for" and "manner".
    """

    verb: Verb
    objects: str = ""
    english: str = ""
    spanish: str = ""
    adjuncts: str = ""


@cache
def verb(english: str, spanish: str) -> Verb:
    """Return a verb from its two infinitives; a Spanish one in "-se" is reflexive."""
    reflexive = spanish.endswith("se")
    return Verb(verb_forms(english), conjugate(spanish.removesuffix("se")), reflexive)


BE = verb("be", "ser")
BE_IN_A_STATE = verb("be", "estar")
HAVE = verb("have", "tener")
GO = verb("go", "ir")

_GOODS = "clothes pairs belongings device furniture tableware vehicle road writing press"

# English, Spanish, kinds of object, adjuncts.
_TRANSITIVE = (
    ("eat", "comer", "fruit dish food cooked", "table with"),
    ("drink", "beber", "drink", "table with"),
    ("cook", "cocinar", "cooked", "home with for"),
    ("prepare", "preparar", "dish cooked drink", "home for"),
    ("order", "pedir", "dish drink", "table with"),
    ("cut", "cortar", "fruit dish food", "home"),
    ("buy", "comprar", f"{_GOODS} fruit food cooked drink", "shops for"),
    ("buy", "comprar", "fruit food cooked drink dish", "shops for"),
    ("sell", "vender", f"{_GOODS} fruit", "shops"),
    ("read", "leer", "writing press", "town home"),
    ("write", "escribir", "writing", "home for"),
    ("wear", "llevar", "clothes pairs", ""),
    ("wash", "lavar", "clothes pairs tableware vehicle road", "home"),
    ("clean", "limpiar", "room furniture openable", ""),
    ("open", "abrir", "openable", ""),
    ("close", "cerrar", "openable", ""),
    ("paint", "pintar", "room openable furniture", "with"),
    ("break", "romper", "tableware openable", ""),
    ("repair", "reparar", "vehicle road furniture device", "with for"),
    ("drive", "conducir", "road", ""),
    ("choose", "elegir", "clothes dish show writing", "for"),
    ("look for", "buscar", "belongings pairs device", "town home"),
    ("find", "encontrar", "belongings pairs device", "town home"),
    ("lose", "perder", "belongings pairs device", "town home"),
    ("need", "necesitar", _GOODS, ""),
    ("use", "usar", "device", ""),
    ("see", "ver", "animal nature", "outdoors"),
    ("look at", "mirar", "nature", "outdoors with"),
    ("visit", "visitar", "place", "with"),
    ("study", "estudiar", "task", "home with"),
    ("understand", "entender", "matter task", ""),
    ("remember", "recordar", "matter music", ""),
    ("explain", "explicar", "matter task", ""),
    ("watch", "ver", "show", "home with"),
    ("wait for", "esperar", "transport", "town with"),
    ("take", "tomar", "transport", "town with"),
    ("listen to", "escuchar", "music", "home with"),
    ("sing", "cantar", "music", "home with"),
)
_TOWARDS_PEOPLE = (
    ("see", "ver", "town"),
    ("know", "conocer", ""),
    ("visit", "visitar", "with"),
    ("help", "ayudar", "home"),
    ("call", "llamar", ""),
    ("wait for", "esperar", "town"),
    ("look for", "buscar", "town"),
    ("love", "querer", ""),
    ("greet", "saludar", "town"),
)
# English, Spanish, complement in both languages, adjuncts.
_FIXED = (
    ("play", "jugar", "football", "al fútbol", "outdoors with"),
    ("play", "jugar", "tennis", "al tenis", "outdoors with"),
    ("play", "jugar", "chess", "al ajedrez", "home with"),
    ("play", "tocar", "the guitar", "la guitarra", "home with"),
    ("play", "tocar", "the piano", "el piano", "home with"),
    ("study", "estudiar", "Spanish", "español", "town with"),
    ("study", "estudiar", "history", "historia", "town with"),
    ("learn", "aprender", "English", "inglés", "town with"),
    ("learn", "aprender", "French", "francés", "town with"),
    ("speak", "hablar", "Spanish", "español", "with"),
    ("speak", "hablar", "English", "inglés", "with"),
    ("teach", "enseñar", "music", "música", "town"),
    ("watch", "ver", "television", "la televisión", "home with"),
    ("listen to", "escuchar", "music", "música", "home with"),
    ("listen to", "escuchar", "the radio", "la radio", "home with"),
    ("make", "hacer", "the bed", "la cama", ""),
    ("take", "hacer", "photos", "fotos", "town with"),
    ("ride", "montar", "a bicycle", "en bicicleta", "outdoors with"),
    ("sing", "cantar", "", "", "town with manner"),
    ("have breakfast", "desayunar", "", "", "home with"),
    ("have lunch", "almorzar", "", "", "table with"),
    ("have dinner", "cenar", "", "", "table with"),
    ("work", "trabajar", "", "", "town with manner"),
    ("work", "trabajar", "", "", "town with manner"),
    ("sleep", "dormir", "", "", "home manner"),
    ("run", "correr", "", "", "outdoors with manner"),
    ("walk", "caminar", "", "", "outdoors with manner"),
    ("swim", "nadar", "", "", "with manner"),
    ("dance", "bailar", "", "", "home with manner"),
    ("rest", "descansar", "", "", "home with"),
    ("talk", "hablar", "", "", "home with"),
)
_DAILY = (
    ("get up", "levantarse", "", "", ""),
    ("wake up", "despertarse", "", "", ""),
    ("go to bed", "acostarse", "", "", ""),
    ("shower", "ducharse", "", "", ""),
    ("get dressed", "vestirse", "", "", ""),
    ("stay", "quedarse", "at home", "en casa", ""),
)

TRANSITIVE = tuple(Action(verb(e, s), objects, "", "", more) for e, s, objects, more in _TRANSITIVE)
TOWARDS_PEOPLE = tuple(Action(verb(e, s), "who", "", "", more) for e, s, more in _TOWARDS_PEOPLE)
FIXED = tuple(Action(verb(e, s), "", *complement) for e, s, *complement in _FIXED)
DAILY = tuple(Action(verb(e, s), "", *complement) for e, s, *complement in _DAILY)

# Motion, with the English and Spanish prepositions of its goal in place of a complement.
MOTION = tuple(
    Action(verb(english, spanish), "", *prepositions)
    for english, spanish, *prepositions in (
        ("go", "ir", "to", "a"),
        ("go", "ir", "to", "a"),
        ("come", "venir", "to", "a"),
        ("return", "volver", "to", "a"),
        ("travel", "viajar", "to", "a"),
        ("run", "correr", "to", "a"),
        ("come", "venir", "from", "de"),
        ("return", "volver", "from", "de"),
    )
)

# Things handed over, shown or sent to somebody.
TRANSFER = tuple(
    Action(verb(english, spanish), objects)
    for english, spanish, objects in (
        ("give", "dar", "belongings writing clothes dish"),
        ("send", "enviar", "writing belongings"),
        ("show", "enseñar", "belongings writing room clothes"),
        ("bring", "traer", "dish drink belongings tableware"),
        ("lend", "prestar", "vehicle road writing belongings clothes"),
        ("sell", "vender", "vehicle road furniture belongings"),
    )
)

# States: they are not said in the progressive, and their past is the Spanish imperfect.
OWNING = (
    (HAVE, f"{_GOODS} animal"),
    (HAVE, f"{_GOODS} fruit"),
    (verb("want", "querer"), f"{_GOODS} dish drink animal"),
    (verb("need", "necesitar"), f"{_GOODS} fruit"),
    (verb("prefer", "preferir"), f"{_GOODS} dish"),
)
