"""Plural forms of languages: how many a language has, and which of them is for one thing alone."""

from gettext import c2py
from typing import NamedTuple

# The categories of forms in Unicode's CLDR, in their order.
CATEGORIES = ("zero", "one", "two", "few", "many", "other")


class Plurals(NamedTuple):
    """The forms of a language, as gettext's `Plural-Forms` has them.

    Attributes:
        number: How many there are.
        rule: The expression in C that gives the form of `n` things.
        categories: The names that CLDR has for the forms.
    """

    number: int
    rule: str
    categories: tuple[str, ...] = ("one", "other")

    @property
    def singular(self) -> int | None:
        """The form of one thing and of no other number; None if it has more, or is the only one."""
        form_of = c2py(self.rule)
        forms = [form_of(number) for number in range(200)]
        return forms[1] if self.number > 1 and forms.count(forms[1]) == 1 else None

    @property
    def header(self) -> str:
        """The value of `Plural-Forms`."""
        return f"nplurals={self.number}; plural={self.rule};"


_NONE = Plurals(1, "0", ("other",))
_TWO = Plurals(2, "n != 1")
_TWO_FROM_TWO = Plurals(2, "n > 1")
_FEW, _MANY = ("one", "few", "other"), ("one", "few", "many", "other")
_SMALL = "n%10>=2 && n%10<=4 && !(n%100>=12 && n%100<=14)"
_ONE_BY_DIGIT = "n%10==1 && n%100!=11"
_BY_LANGUAGE = {
    **dict.fromkeys("id ja ka ko lo ms my th vi yo zh".split(), _NONE),
    **dict.fromkeys("fr br fil hy oc pt_BR tg ti tr uz wa".split(), _TWO_FROM_TWO),
    **dict.fromkeys(("is", "mk"), Plurals(2, "n%10!=1 || n%100==11")),
    **dict.fromkeys(
        ("ru", "uk", "be"), Plurals(3, f"{_ONE_BY_DIGIT} ? 0 : {_SMALL} ? 1 : 2", _MANY)
    ),
    **dict.fromkeys(
        ("sr", "hr", "bs", "sh"), Plurals(3, f"{_ONE_BY_DIGIT} ? 0 : {_SMALL} ? 1 : 2", _FEW)
    ),
    **dict.fromkeys(("cs", "sk"), Plurals(3, "n==1 ? 0 : n>=2 && n<=4 ? 1 : 2", _MANY)),
    "pl": Plurals(3, f"n==1 ? 0 : {_SMALL} ? 1 : 2", _MANY),
    "lt": Plurals(3, f"{_ONE_BY_DIGIT} ? 0 : n%10>=2 && (n%100<10 || n%100>=20) ? 1 : 2", _MANY),
    "lv": Plurals(3, f"{_ONE_BY_DIGIT} ? 0 : n != 0 ? 1 : 2", ("zero", "one", "other")),
    "ro": Plurals(3, "n==1 ? 0 : n==0 || (n%100>0 && n%100<20) ? 1 : 2", _FEW),
    "sl": Plurals(
        4,
        "n%100==1 ? 0 : n%100==2 ? 1 : n%100==3 || n%100==4 ? 2 : 3",
        ("one", "two", "few", "other"),
    ),
    "ga": Plurals(
        5,
        "n==1 ? 0 : n==2 ? 1 : n<7 ? 2 : n<11 ? 3 : 4",
        ("one", "two", "few", "many", "other"),
    ),
    "ar": Plurals(
        6,
        "n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5",
        CATEGORIES,
    ),
    "cy": Plurals(4, "n==1 ? 0 : n==2 ? 1 : n!=8 && n!=11 ? 2 : 3", CATEGORIES),
}


def read_plurals(number: int, rule: str) -> Plurals:
    """Returns the forms that a catalogue names.

    Raises:
        ValueError: The rule is no such expression, or gives more forms than there are.
    """
    try:
        form_of = c2py(rule)
        forms = {form_of(one) for one in range(200)}
    except (ArithmeticError, ValueError) as error:
        raise ValueError(f"its Plural-Forms has no rule of forms: {rule}: {error}.") from error
    if number > len(CATEGORIES) or not forms <= set(range(number)):
        raise ValueError(
            f"its Plural-Forms has {number} forms, and a rule that gives {forms}: languages have "
            f"{len(CATEGORIES)} at most, which are counted from 0."
        )
    return Plurals(number, rule)


def plurals_of(language: str) -> Plurals:
    """Returns the forms of a language, those of German and English where it is not listed.

    Args:
        language: Its code, with or without a region: "de", "pt_BR", "zh-CN".

    Example:
        >>> plurals_of("ja").number, plurals_of("pl").number, plurals_of("pl").singular
        (1, 3, 0)
    """
    code = language.replace("-", "_")
    return _BY_LANGUAGE.get(code) or _BY_LANGUAGE.get(code.partition("_")[0], _TWO)
