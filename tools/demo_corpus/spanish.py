"""Spanish inflection for the demo corpus: verbs, plurals, adjectives, articles and numbers.

Takes citation forms ("cerrar", "canción", 21) and returns inflected forms.
"""

from dataclasses import dataclass
from functools import cache

FIRST, SECOND, THIRD, FIRST_PLURAL, THIRD_PLURAL = range(5)
"""Grammatical persons, the index into every tuple of conjugated forms. English "you" is tú."""

_PLAIN_VOWELS = str.maketrans("áéíóú", "aeiou")

_PRESENT = {"ar": "o as a amos an", "er": "o es e emos en", "ir": "o es e imos en"}
_PAST = {"ar": "é aste ó amos aron", "er": "í iste ió imos ieron", "ir": "í iste ió imos ieron"}
_IMPERFECT = {"ar": "aba abas aba ábamos aban", "er": "ía ías ía íamos ían"}
_FUTURE = "é ás á emos án"

# What a verb does not share with the regular pattern of its ending. `change` is the vowel of the
# stressed stem (cerrar, cierro); `yo` the first person of the present; `*_stem` replace the stem.
_IRREGULAR: dict[str, dict[str, str]] = {
    "abrir": {"participle": "abierto"},
    "acostar": {"change": "ue"},
    "almorzar": {"change": "ue"},
    "cerrar": {"change": "ie"},
    "conducir": {"past_stem": "conduj"},
    "contar": {"change": "ue"},
    "costar": {"change": "ue"},
    "dar": {
        "present": "doy das da damos dan",
        "past": "di diste dio dimos dieron",
        "prohibition": "des",
    },
    "decir": {
        "change": "i",
        "yo": "digo",
        "past_stem": "dij",
        "future_stem": "dir",
        "participle": "dicho",
        "command": "di",
    },
    "despertar": {"change": "ie"},
    "dormir": {"change": "ue"},
    "elegir": {"change": "i"},
    "empezar": {"change": "ie"},
    "encontrar": {"change": "ue"},
    "enviar": {"present": "envío envías envía enviamos envían"},
    "escribir": {"participle": "escrito"},
    "estar": {
        "present": "estoy estás está estamos están",
        "past_stem": "estuv",
        "prohibition": "estés",
    },
    "haber": {"present": "he has ha hemos han", "past_stem": "hub", "future_stem": "habr"},
    "hacer": {
        "yo": "hago",
        "past_stem": "hic",
        "future_stem": "har",
        "participle": "hecho",
        "command": "haz",
    },
    "ir": {
        "present": "voy vas va vamos van",
        "past": "fui fuiste fue fuimos fueron",
        "imperfect": "iba ibas iba íbamos iban",
        "gerund": "yendo",
        "command": "ve",
        "prohibition": "vayas",
    },
    "entender": {"change": "ie"},
    "jugar": {"change": "ue"},
    "llover": {"change": "ue"},
    "nevar": {"change": "ie"},
    "pensar": {"change": "ie"},
    "pedir": {"change": "i"},
    "perder": {"change": "ie"},
    "poder": {"change": "ue", "past_stem": "pud", "future_stem": "podr", "gerund": "pudiendo"},
    "poner": {
        "yo": "pongo",
        "past_stem": "pus",
        "future_stem": "pondr",
        "participle": "puesto",
        "command": "pon",
    },
    "preferir": {"change": "ie"},
    "querer": {"change": "ie", "past_stem": "quis", "future_stem": "querr"},
    "recordar": {"change": "ue"},
    "romper": {"participle": "roto"},
    "saber": {"yo": "sé", "past_stem": "sup", "future_stem": "sabr", "prohibition": "sepas"},
    "salir": {"yo": "salgo", "future_stem": "saldr", "command": "sal"},
    "sentar": {"change": "ie"},
    "ser": {
        "present": "soy eres es somos son",
        "past": "fui fuiste fue fuimos fueron",
        "imperfect": "era eras era éramos eran",
        "command": "sé",
        "prohibition": "seas",
    },
    "servir": {"change": "i"},
    "tener": {
        "change": "ie",
        "yo": "tengo",
        "past_stem": "tuv",
        "future_stem": "tendr",
        "command": "ten",
    },
    "traer": {"yo": "traigo", "past_stem": "traj"},
    "venir": {
        "change": "ie",
        "yo": "vengo",
        "past_stem": "vin",
        "future_stem": "vendr",
        "gerund": "viniendo",
        "command": "ven",
    },
    "ver": {
        "yo": "veo",
        "past": "vi viste vio vimos vieron",
        "imperfect": "veía veías veía veíamos veían",
        "participle": "visto",
    },
    "vestir": {"change": "i"},
    "volver": {"change": "ue", "participle": "vuelto"},
}


@dataclass(frozen=True)
class Conjugation:
    """The forms of one Spanish verb; the tuples are indexed by person."""

    infinitive: str
    present: tuple[str, ...]
    past: tuple[str, ...]
    imperfect: tuple[str, ...]
    future: tuple[str, ...]
    gerund: str
    participle: str
    command: str
    prohibition: str


@cache
def conjugate(infinitive: str) -> Conjugation:
    """Return the forms of a verb given without reflexive "se".

    Example:
        >>> conjugate("dormir").past[THIRD], conjugate("buscar").past[FIRST]
        ('durmió', 'busqué')
    """
    irregular = _IRREGULAR.get(infinitive, {})
    stem, ending = infinitive[:-2], infinitive[-2:]
    stressed = _change_vowel(stem, irregular.get("change", ""))
    # In -ir verbs the change also reaches the stem before -ió, -ieron and -iendo: durmió, pidió.
    weak = stem
    if ending == "ir" and "change" in irregular:
        weak = _change_vowel(stem, {"ue": "u"}.get(irregular["change"], "i"))

    present = _forms(irregular.get("present")) or _present(stem, stressed, ending, irregular)
    past = _forms(irregular.get("past")) or _past(stem, weak, ending, irregular)
    imperfect_endings = _IMPERFECT["ar" if ending == "ar" else "er"]
    imperfect = _forms(irregular.get("imperfect")) or _attach(stem, imperfect_endings)
    vowel_stem = stem[-1:] in ("a", "e", "o") and len(stem) > 1
    participle = "ado" if ending == "ar" else "ído" if vowel_stem else "ido"
    gerund = "ando" if ending == "ar" else "yendo" if vowel_stem else "iendo"
    prohibition = (
        _before_e(present[FIRST][:-1]) + "es" if ending == "ar" else present[0][:-1] + "as"
    )
    return Conjugation(
        infinitive=infinitive,
        present=present,
        past=past,
        imperfect=imperfect,
        future=_attach(irregular.get("future_stem", infinitive), _FUTURE),
        gerund=irregular.get("gerund", weak + gerund),
        participle=irregular.get("participle", stem + participle),
        command=irregular.get("command", present[THIRD]),
        prohibition=irregular.get("prohibition", prohibition),
    )


def _present(stem: str, stressed: str, ending: str, irregular: dict[str, str]) -> tuple[str, ...]:
    forms = list(_attach(stressed, _PRESENT[ending]))
    if ending != "ar":
        forms[FIRST] = _before_o(stressed) + "o"
    forms[FIRST] = irregular.get("yo", forms[FIRST])
    forms[FIRST_PLURAL] = stem + _PRESENT[ending].split()[FIRST_PLURAL]
    return tuple(forms)


def _past(stem: str, weak: str, ending: str, irregular: dict[str, str]) -> tuple[str, ...]:
    if "past_stem" in irregular:
        strong = irregular["past_stem"]
        forms = list(_attach(strong, "e iste o imos " + ("eron" if strong[-1] == "j" else "ieron")))
        forms[THIRD] = strong.removesuffix("c") + "zo" if strong[-1] == "c" else strong + "o"
        return tuple(forms)
    if stem[-1] in "ae" and ending != "ar":
        return _attach(stem, "í íste yó ímos yeron")
    forms = list(_attach(stem, _PAST[ending]))
    if ending == "ar":
        forms[FIRST] = _before_e(stem) + "é"
    else:
        forms[THIRD], forms[THIRD_PLURAL] = weak + "ió", weak + "ieron"
    return tuple(forms)


def _forms(text: str | None) -> tuple[str, ...]:
    return tuple((text or "").split())


def _attach(stem: str, endings: str) -> tuple[str, ...]:
    return tuple(stem + ending for ending in endings.split())


def _change_vowel(stem: str, change: str) -> str:
    if not change:
        return stem
    position = max(stem.rfind(vowel) for vowel in ("ou" if change[0] == "u" else "e"))
    return stem[:position] + change + stem[position + 1 :]


def _before_e(stem: str) -> str:
    """Spell the stem's last sound before e: buscar, busqué; pagar, pagué; empezar, empecé."""
    for last, spelled in (("c", "qu"), ("g", "gu"), ("z", "c")):
        if stem.endswith(last):
            return stem[:-1] + spelled
    return stem


def _before_o(stem: str) -> str:
    """Spell the stem's last sound before o: conocer, conozco; elegir, elijo."""
    if stem.endswith("c") and stem[-2] in "aeiou":
        return stem[:-1] + "zc"
    return stem[:-1] + "j" if stem.endswith("g") else stem


def pluralize(word: str) -> str:
    """Return the plural of a noun or an adjective.

    Example:
        >>> [pluralize(word) for word in ("casa", "canción", "lápiz", "autobús", "paraguas")]
        ['casas', 'canciones', 'lápices', 'autobuses', 'paraguas']
    """
    if word[-1] in "aeiouáéó":
        return word + "s"
    if word.endswith("z"):
        return word[:-1] + "ces"
    if word[-1] in "ns" and word[-2] in "áéíóú":
        return word[:-2] + word[-2].translate(_PLAIN_VOWELS) + word[-1] + "es"
    if word.endswith("s") and len(word) > 4:
        return word
    return word + "es"


def feminine_of(adjective: str) -> str:
    """Return the feminine singular: "rojo", "roja"; "inglés", "inglesa"; "azul", "azul"."""
    if adjective.endswith("o"):
        return adjective[:-1] + "a"
    if adjective.endswith(("és", "án", "ñol")):
        return adjective[:-2] + adjective[-2:].translate(_PLAIN_VOWELS) + "a"
    return adjective


def join_with_and(first: str, second: str) -> str:
    """Join with "y", which is "e" before the sound i (but not before "hie")."""
    start = second.lower()
    sounds_like_i = start.startswith(("i", "í", "hi", "hí")) and not start.startswith("hie")
    return f"{first} {'e' if sounds_like_i else 'y'} {second}"


def with_preposition(preposition: str, phrase: str) -> str:
    """Put a preposition before a phrase, contracting "a el" to "al" and "de el" to "del"."""
    if phrase.startswith("el ") and preposition.split(" ")[-1] in ("a", "de"):
        return preposition + phrase[1:]
    return f"{preposition} {phrase}"


_SMALL = (
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince "
    "dieciséis diecisiete dieciocho diecinueve veinte veintiuno veintidós veintitrés "
    "veinticuatro veinticinco veintiséis veintisiete veintiocho veintinueve"
).split()
_TENS = "- - - treinta cuarenta cincuenta sesenta setenta ochenta noventa".split()
_HUNDREDS = (
    "- ciento doscientos trescientos cuatrocientos quinientos seiscientos setecientos "
    "ochocientos novecientos"
).split()


def number_words(number: int, feminine: bool = False) -> str:
    """Spell a number of 1 to 1,000 as it stands before a noun of the given gender.

    Example:
        >>> number_words(21), number_words(21, feminine=True), number_words(200, feminine=True)
        ('veintiún', 'veintiuna', 'doscientas')
    """
    if number == 1000:
        return "mil"
    if number == 100:
        return "cien"
    hundreds, rest = divmod(number, 100)
    words = [_HUNDREDS[hundreds]] if hundreds else []
    if rest >= 30:
        tens, ones = divmod(rest, 10)
        words += [_TENS[tens]] + (["y", _SMALL[ones]] if ones else [])
    elif rest:
        words.append(_SMALL[rest])
    if feminine and hundreds > 1:
        words[0] = words[0][:-2] + "as"
    if words[-1].endswith("uno"):
        masculine = "veintiún" if words[-1] == "veintiuno" else "un"
        words[-1] = words[-1][:-1] + "a" if feminine else masculine
    return " ".join(words)


def count_words(number: int) -> str:
    """Spell a number of 1 to 12 as it is counted, not before a noun: "uno", not "un"."""
    return _SMALL[number]
