"""Noun phrases of the demo corpus: determiner, adjective and noun in agreement.

Takes a random generator and kinds of noun and returns a `NounPhrase` in both languages.
"""

from dataclasses import dataclass
from random import Random

from tools.demo_corpus import english as demo_english
from tools.demo_corpus import spanish as demo_spanish
from tools.demo_corpus.adjectives import ADJECTIVES, ATTRIBUTES, LEADING, Adjective
from tools.demo_corpus.nouns import NOUNS, Noun, nouns_of
from tools.demo_corpus.spanish import (
    FIRST_PLURAL,
    THIRD,
    THIRD_PLURAL,
)


@dataclass(frozen=True)
class NounPhrase:
    """A noun phrase or a pronoun in both languages, as subject or object.

    Attributes:
        english: the English text.
        spanish: the Spanish text; empty for a pronoun that Spanish leaves out.
        person: grammatical person, an index of `demo_spanish`.
        feminine: the gender that adjectives agree with.
        pronoun: the English subject pronoun that refers back to it.
        kind: the kind of noun ("clothes"), or "" for names and pronouns.
    """

    english: str
    spanish: str
    person: int = THIRD
    feminine: bool = False
    pronoun: str = "it"
    kind: str = ""

    @property
    def plural(self) -> bool:
        """Whether adjectives are plural."""
        return self.person in (FIRST_PLURAL, THIRD_PLURAL)

    @property
    def is_pronoun(self) -> bool:
        """Whether the English text is a subject pronoun."""
        return self.english == self.pronoun


# Masculine, feminine, masculine plural, feminine plural.
POSSESSIVES = {
    "my": ("mi", "mi", "mis", "mis"),
    "your": ("tu", "tu", "tus", "tus"),
    "his": ("su", "su", "sus", "sus"),
    "her": ("su", "su", "sus", "sus"),
    "our": ("nuestro", "nuestra", "nuestros", "nuestras"),
    "their": ("su", "su", "sus", "sus"),
}


_DETERMINERS: dict[str, tuple[str, str, str, str]] = POSSESSIVES | {
    "": ("", "", "", ""),
    "the": ("el", "la", "los", "las"),
    "a": ("un", "una", "", ""),
    "this": ("este", "esta", "", ""),
    "that": ("ese", "esa", "", ""),
    "these": ("", "", "estos", "estas"),
    "those": ("", "", "esos", "esas"),
    "another": ("otro", "otra", "", ""),
    "every": ("cada", "cada", "", ""),
    "some": ("", "", "unos", "unas"),
    "many": ("", "", "muchos", "muchas"),
    "all the": ("", "", "todos los", "todas las"),
}


# Kinds of noun that nobody owns.
_UNOWNED = frozenset({"place", "nature", "transport"})
_SINGULAR = (*"the the the the a a a this that another".split(), *POSSESSIVES)
_PLURAL = (*"the the the these those some many".split(), "all the", "", "", "", *POSSESSIVES)
_DEFINITE = frozenset({"the", "this", "that", "these", "those", "all the", *POSSESSIVES})


def determined(
    noun: Noun,
    determiner: str,
    plural: bool = False,
    after: Adjective | None = None,
    before: Adjective | None = None,
) -> NounPhrase:
    """Build a noun phrase.

    Args:
        noun: the noun.
        determiner: English, "" for none; "a" becomes "an" where it must.
        plural: the number.
        after: an adjective that follows the noun in Spanish.
        before: one that precedes it there too.

    Example:
        >>> house = next(noun for noun in NOUNS["room"] if noun.english == "house")
        >>> determined(house, "the", plural=True, after=ADJECTIVES["color"][0]).spanish
        'las casas rojas'
    """
    english = noun.english_plural if plural else noun.english
    spanish = noun.spanish_plural if plural else noun.spanish
    if after:
        english = f"{after.english} {english}"
        spanish = f"{spanish} {after.agree(noun.feminine, plural)}"
    if before:
        english = f"{before.english} {english}"
        spanish = f"{before.agree(noun.feminine, plural)} {spanish}"
    article = _DETERMINERS[determiner][2 * plural + noun.feminine]
    if noun.stressed_a and not plural and not before and determiner in ("the", "a"):
        article = {"the": "el", "a": "un"}[determiner]
    if determiner == "a":
        english = demo_english.with_indefinite_article(english)
    elif determiner:
        english = f"{determiner} {english}"
    return NounPhrase(
        english,
        f"{article} {spanish}".strip(),
        THIRD_PLURAL if plural else THIRD,
        noun.feminine,
        pronoun="they" if plural else ("she" if noun.feminine else "he") if noun.human else "it",
        kind=kind_of(noun),
    )


_KINDS = {noun: kind for kind, nouns in NOUNS.items() for noun in nouns}


def kind_of(noun: Noun) -> str:
    """Return the kind under which a noun is listed."""
    return _KINDS[noun]


def counted(rng: Random, noun: Noun, most: int = 12) -> NounPhrase:
    """Return two or more of a noun, the number spelled out or (above twelve) at times in digits."""
    number = rng.randint(2, most)
    english = demo_english.number_words(number)
    spanish = demo_spanish.number_words(number, noun.feminine)
    if number > 12 and rng.random() < 0.5:
        english = spanish = str(number)
    plain = determined(noun, "", plural=True)
    return NounPhrase(
        f"{english} {plain.english}",
        f"{spanish} {plain.spanish}",
        THIRD_PLURAL,
        noun.feminine,
        plain.pronoun,
        plain.kind,
    )


def attribute(rng: Random, noun: Noun) -> Adjective | None:
    """Return an adjective that suits a noun, if there is any."""
    groups = ATTRIBUTES[kind_of(noun)]
    return rng.choice(ADJECTIVES[rng.choice(groups)]) if groups else None


_PLURAL_SHARE = {"pairs": 0.95, "transport": 0.1}


def thing(
    rng: Random, kinds: str, definite: bool = False, adjective: float = 0.25, singular: bool = False
) -> NounPhrase:
    """Return a phrase about things or animals.

    Args:
        rng: source of every choice.
        kinds: kinds of noun, separated by spaces.
        definite: only determiners that point at something known.
        adjective: probability of an adjective.
        singular: never a plural.
    """
    noun = rng.choice(nouns_of(kinds))
    kind = kind_of(noun)
    plural = not singular and not noun.mass and rng.random() < _PLURAL_SHARE.get(kind, 0.33)
    after = attribute(rng, noun) if rng.random() < adjective else None
    if noun.mass:
        determiner = rng.choice(("the", "this", "my") if definite else ("", "", "", "the"))
        return determined(noun, determiner, after=after)
    if plural and not definite and rng.random() < 0.2:
        return counted(rng, noun, most=20)
    choices = _PLURAL if plural else _SINGULAR
    determiner = rng.choice(choices)
    pointing = kind in _UNOWNED
    while (definite and determiner not in _DEFINITE) or (pointing and determiner in POSSESSIVES):
        determiner = rng.choice(choices)
    before = None
    if not after and determiner in ("the", "a", "my", "your") and rng.random() < 0.15:
        before = _leading(rng, determiner)
    return determined(noun, determiner, plural, after, before)


def known_thing(rng: Random, kinds: str) -> NounPhrase:
    """Return a phrase about something known, without an adjective."""
    return thing(rng, kinds, definite=True, adjective=0.0)


def _leading(rng: Random, determiner: str) -> Adjective:
    words = {"a": ("good", "bad"), "the": ("other", "first", "last", "best")}
    return LEADING[rng.choice(words.get(determiner, ("first", "last", "best")))]


def any_thing(rng: Random, kinds: str, negative: bool) -> NounPhrase:
    """Return "any" with a noun, as after "not" (ningún, ninguna) or a question (algún, alguna)."""
    noun = rng.choice(nouns_of(kinds))
    if noun.mass:
        return NounPhrase(f"any {noun.english}", noun.spanish)
    masculine, feminine = ("ningún", "ninguna") if negative else ("algún", "alguna")
    article = feminine if noun.feminine and not noun.stressed_a else masculine
    return NounPhrase(f"any {noun.english_plural}", f"{article} {noun.spanish}")


def portion(rng: Random, drink: bool) -> NounPhrase:
    """Return a measured food or drink ("two cups of tea", "dos tazas de té")."""
    if drink:
        noun = rng.choice(NOUNS["drink"])
        warm = noun.english in ("coffee", "tea")
        measure = ("cup", "taza", True) if warm else rng.choice(_DRINK_MEASURES)
    elif rng.random() < 0.6:
        noun = rng.choice(NOUNS["fruit"])
        measure = ("kilo", "kilo", False)
    else:
        noun = rng.choice(NOUNS["food"][:3])
        measure = ("piece", "trozo", False)
    english, spanish, feminine = measure
    content = noun.english if noun.mass else noun.english_plural
    spanish_content = noun.spanish if noun.mass else noun.spanish_plural
    count = rng.choice((1, 1, 1, 2, 3, 4))
    if count == 1:
        return NounPhrase(
            f"a {english} of {content}",
            f"{'una' if feminine else 'un'} {spanish} de {spanish_content}",
        )
    return NounPhrase(
        f"{demo_english.number_words(count)} {demo_english.plural_of(english)} of {content}",
        f"{demo_spanish.number_words(count)} {spanish}s de {spanish_content}",
        THIRD_PLURAL,
    )


_DRINK_MEASURES = (("glass", "vaso", False), ("bottle", "botella", True))
