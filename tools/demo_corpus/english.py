"""English inflection for the demo corpus: verb forms, plurals, comparatives, "a"/"an", numbers.

Takes citation forms ("look for", "church", 105) and returns inflected forms.
"""

from dataclasses import dataclass
from functools import cache

_IRREGULAR_VERBS = {
    "be": "was been",
    "break": "broke broken",
    "bring": "brought brought",
    "buy": "bought bought",
    "choose": "chose chosen",
    "come": "came come",
    "cost": "cost cost",
    "cut": "cut cut",
    "do": "did done",
    "drink": "drank drunk",
    "drive": "drove driven",
    "eat": "ate eaten",
    "find": "found found",
    "get": "got got",
    "give": "gave given",
    "go": "went gone",
    "have": "had had",
    "know": "knew known",
    "leave": "left left",
    "lend": "lent lent",
    "lose": "lost lost",
    "make": "made made",
    "put": "put put",
    "read": "read read",
    "ride": "rode ridden",
    "run": "ran run",
    "see": "saw seen",
    "sell": "sold sold",
    "send": "sent sent",
    "sing": "sang sung",
    "sit": "sat sat",
    "sleep": "slept slept",
    "speak": "spoke spoken",
    "swim": "swam swum",
    "take": "took taken",
    "teach": "taught taught",
    "tell": "told told",
    "think": "thought thought",
    "understand": "understood understood",
    "wake": "woke woken",
    "wear": "wore worn",
    "write": "wrote written",
}
_DOUBLED = frozenset({"cut", "get", "put", "run", "sit", "swim", "travel"})
_SIBILANTS = ("s", "sh", "ch", "x", "z", "o")


@dataclass(frozen=True)
class VerbForms:
    """The forms of one English verb, each with its particle ("looks for")."""

    base: str
    third: str
    past: str
    participle: str
    gerund: str


@cache
def verb_forms(verb: str) -> VerbForms:
    """Inflect the first word of a verb and keep the rest ("look for", "have breakfast").

    Example:
        >>> verb_forms("carry").past, verb_forms("look for").third, verb_forms("make").gerund
        ('carried', 'looks for', 'making')
    """
    base, _, particle = verb.partition(" ")
    root = base + base[-1] if base in _DOUBLED and base != "travel" else base
    if base == "travel":
        past, participle, gerund = "traveled", "traveled", "traveling"
    else:
        regular = _past(base)
        past, participle = _IRREGULAR_VERBS.get(base, f"{regular} {regular}").split()
        keep_e = base.endswith("ee") or base == "be"
        gerund = (root[:-1] if root.endswith("e") and not keep_e else root) + "ing"
    third = "has" if base == "have" else plural_of(base)
    suffix = f" {particle}" if particle else ""
    forms = (base, third, past, participle, gerund)
    return VerbForms(*(form + suffix for form in forms))


def _past(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ied"
    return base + "ed"


def plural_of(word: str) -> str:
    """Return the regular plural of a noun, spelled as the third person of a verb is."""
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    if word.endswith(_SIBILANTS) and word not in ("photo", "piano", "kilo"):
        return word + "es"
    return word + "s"


def with_indefinite_article(phrase: str) -> str:
    """Put "a" or "an" before a phrase; "university" begins with a consonant sound."""
    vowel = phrase[0] in "aeiou" and not phrase.startswith(("uni", "eu"))
    return f"{'an' if vowel else 'a'} {phrase}"


def compare(adjective: str) -> tuple[str, str]:
    """Return the comparative and the superlative, without "than" and "the".

    Example:
        >>> compare("big"), compare("expensive")
        (('bigger', 'biggest'), ('more expensive', 'most expensive'))
    """
    vowels = sum(letter in "aeiou" for letter in adjective)
    if adjective in ("big", "sad"):
        root = adjective + adjective[-1]
    elif adjective.endswith("y") and len(adjective) <= 5:
        root = adjective[:-1] + "i"
    elif vowels == 1 or adjective in ("cheap", "clean", "poor", "young"):
        root = adjective
    elif adjective in ("nice",):
        root = adjective[:-1]
    else:
        return f"more {adjective}", f"most {adjective}"
    return root + "er", root + "est"


_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
).split()
_TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety".split()


def number_words(number: int) -> str:
    """Spell a number of 1 to 1,000.

    Example:
        >>> number_words(21), number_words(305)
        ('twenty-one', 'three hundred and five')
    """
    if number == 1000:
        return "one thousand"
    hundreds, rest = divmod(number, 100)
    words = [f"{_SMALL[hundreds]} hundred"] if hundreds else []
    if rest >= 20:
        tens, ones = divmod(rest, 10)
        words.append(_TENS[tens] + (f"-{_SMALL[ones]}" if ones else ""))
    elif rest:
        words.append(_SMALL[rest])
    return " and ".join(words)
