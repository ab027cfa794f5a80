"""Plural forms of languages: how many a language has, and which of them is for one thing alone."""

from gettext import c2py
from typing import NamedTuple


class Plurals(NamedTuple):
    """The forms of a language, as gettext's `Plural-Forms` has them.

    Attributes:
        number: How many there are.
        rule: The expression in C that gives the form of `n` things.
    """

    number: int
    rule: str

    @property
    def singular(self) -> int | None:
        """The form of one thing and of no other number; None if it has more, or is the only one."""
        form_of = c2py(self.rule)
        forms = [form_of(number) for number in range(200)]
        return forms[1] if self.number > 1 and forms.count(forms[1]) == 1 else None

    @property
    def of_one(self) -> int:
        """The form of one thing, and maybe of others."""
        return int(c2py(self.rule)(1))

    @property
    def header(self) -> str:
        """The value of `Plural-Forms`."""
        return f"nplurals={self.number}; plural={self.rule};"


_NONE = Plurals(1, "0")
_TWO = Plurals(2, "n != 1")
_TWO_FROM_TWO = Plurals(2, "n > 1")
_TEENS = "n%100>=12 && n%100<=14"
_EAST_SLAVIC = Plurals(3, f"n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && !({_TEENS}) ? 1 : 2")
_BY_LANGUAGE = {
    **dict.fromkeys("id ja ka ko lo ms my th vi yo zh".split(), _NONE),
    **dict.fromkeys("fr br fil hy oc pt_BR tg ti tr uz wa".split(), _TWO_FROM_TWO),
    **dict.fromkeys("ru uk be sr hr bs sh".split(), _EAST_SLAVIC),
    **dict.fromkeys(("cs", "sk"), Plurals(3, "n==1 ? 0 : n>=2 && n<=4 ? 1 : 2")),
    "pl": Plurals(3, f"n==1 ? 0 : n%10>=2 && n%10<=4 && !({_TEENS}) ? 1 : 2"),
    "lt": Plurals(3, "n%10==1 && n%100!=11 ? 0 : n%10>=2 && (n%100<10 || n%100>=20) ? 1 : 2"),
    "lv": Plurals(3, "n%10==1 && n%100!=11 ? 0 : n != 0 ? 1 : 2"),
    "ro": Plurals(3, "n==1 ? 0 : n==0 || (n%100>0 && n%100<20) ? 1 : 2"),
    "sl": Plurals(4, "n%100==1 ? 0 : n%100==2 ? 1 : n%100==3 || n%100==4 ? 2 : 3"),
    "ar": Plurals(
        6, "n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5"
    ),
    "ga": Plurals(5, "n==1 ? 0 : n==2 ? 1 : n<7 ? 2 : n<11 ? 3 : 4"),
    "cy": Plurals(4, "n==1 ? 0 : n==2 ? 1 : n!=8 && n!=11 ? 2 : 3"),
    "is": Plurals(2, "n%10!=1 || n%100==11"),
    "mk": Plurals(2, "n%10!=1 || n%100==11"),
}


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
