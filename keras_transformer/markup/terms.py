"""Terms whose translations a list decides: where one stands in a text it is lifted out as a span
is, and what the list says stands in the translation.
"""

import functools
import itertools
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

# How a list decides: its translations must occur, stand beside the terms of a source, or both.
TermUse = Literal["hard", "soft", "both"]
_FLAGS = ("case", "part")


class Term(NamedTuple):
    """One form of a term.

    Attributes:
        source: As it stands in texts, whatever white space is between its words.
        target: Its translation.
        has_case: Whether capitals must be those of `source`. If not, the translation follows them:
            "Cancel" and "CANCEL" are "Abbrechen" and "ABBRECHEN" by "cancel, abbrechen".
        is_part: Whether it may stand within a word.
    """

    source: str
    target: str
    has_case: bool = False
    is_part: bool = False

    @property
    def pattern(self) -> str:
        """Regular expression of what it stands for in texts."""
        return self.pattern_of([self.source])

    def pattern_of(self, sources: Iterable[str]) -> str:
        """Regular expression of what terms with other sources, and the rest alike, stand for."""
        by_letter: dict[str, dict[str, None]] = {}
        for source in sources:
            first, *others = source.split()
            words = r"\s+".join(map(re.escape, [first, *others]))
            by_letter.setdefault(first[0].casefold(), {})[words] = None
        # Most letters of a text begin few terms.
        words = "|".join(f"(?:{'|'.join(own)})" for own in by_letter.values())
        whole = words if self.is_part else rf"(?<!\w)(?:{words})(?!\w)"
        return whole if self.has_case else f"(?i:{whole})"

    def target_of(self, text: str) -> str:
        """Returns the translation with the capitals of a text that this stands for."""
        if self.has_case:
            return self.target
        if len(text) > 1 and text.isupper() and not self.source.isupper():
            return self.target.upper()
        if text[0].isupper() and self.source[0].islower():
            return self.target[0].upper() + self.target[1:]
        return self.target


# Compared by identity, as every text asks for the pattern that is kept of a list.
@dataclass(frozen=True, eq=False)
class Glossary:
    """A list of terms.

    Args:
        terms: The terms; of several at one place of a text the longest counts.

    Raises:
        ValueError: There is none, a side of one is empty, or one has two translations.
    """

    terms: tuple[Term, ...]

    def __post_init__(self) -> None:
        if not self.terms:
            raise ValueError("a glossary needs a term.")
        known: dict[Term, str] = {}
        for term in self.terms:
            if not term.source.split() or not term.target.strip():
                raise ValueError(f"a term needs a source and a target, got {term[:2]}.")
            if known.setdefault(term._replace(target=""), term.target) != term.target:
                first = known[term._replace(target="")]
                raise ValueError(f"{term.source!r} is both {first!r} and {term.target!r}.")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Glossary":
        """Reads lines of a source term, a tab and a target term.

        Forms of a term have `|` between them, on the target side as many as on the source side, or
        one for all: `file|files<TAB>Datei|Dateien`. A line without a tab is a term that stays as it
        is. A third column holds `case`, `part` or both with a comma between them, as in `Term`.

        Raises:
            FileNotFoundError: The file is missing.
            ValueError: A line is none of these, or not UTF-8; the message has its number.
        """
        try:
            lines = Path(path).read_text("utf-8-sig").split("\n")
        except UnicodeDecodeError as error:
            number = error.object.count(b"\n", 0, error.start) + 1
            raise ValueError(f"{path}, line {number}: not UTF-8; save it as UTF-8.") from error
        return cls.parse(lines, str(path))

    @classmethod
    def parse(cls, lines: Iterable[str], name: str) -> "Glossary":
        """Reads the lines of a file; `name` is what they are in messages.

        Raises:
            ValueError: As for `read`.
        """
        terms: list[Term] = []
        for number, line in enumerate(lines, start=1):
            if line.strip():
                try:
                    terms += _terms(line.rstrip("\r"))
                except ValueError as error:
                    raise ValueError(f"{name}, line {number}: {error}") from error
        try:
            return cls(tuple(terms))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error

    def before(self, other: "Glossary | None") -> "Glossary":
        """Returns these terms and, of another list, those that are none of them."""
        if other is None:
            return self
        known = {term._replace(target="") for term in self.terms}
        more = (term for term in other.terms if term._replace(target="") not in known)
        return Glossary((*self.terms, *more))

    @functools.cached_property
    def pattern(self) -> str:
        """Regular expression of all terms, the longest first."""
        ordered = sorted(self.terms, key=lambda term: -len(term.source))
        # One group for all that are alike: thousands of them would take seconds.
        alike = itertools.groupby(ordered, key=lambda term: term._replace(source="", target=""))
        return "|".join(kind.pattern_of(term.source for term in own) for kind, own in alike)

    def term_of(self, text: str) -> Term:
        """Returns the term of a text that `pattern` has found."""
        # Letters that `re` takes for each other may be folded apart, as "i" and "ı" are.
        every = itertools.chain(self._candidates(text), self.terms)
        return next(term for term in every if re.fullmatch(term.pattern, text))

    def _candidates(self, text: str) -> Sequence[Term]:
        """The terms that a text can be, those that tell capitals apart first."""
        return self._by_source.get(_key(text), self.terms)

    @functools.cached_property
    def _by_source(self) -> dict[str, list[Term]]:
        found: dict[str, list[Term]] = {}
        for term in sorted(self.terms, key=lambda term: not term.has_case):
            found.setdefault(_key(term.source), []).append(term)
        return found


def _key(text: str) -> str:
    return " ".join(text.casefold().split())


def _terms(line: str) -> list[Term]:
    source, target, flags, *more = [*line.split("\t"), "", ""][: max(3, line.count("\t") + 1)]
    given = [flag.strip() for flag in flags.split(",") if flag.strip()]
    if more or set(given) - set(_FLAGS):
        raise ValueError(
            "a term is a source, a tab and a target, and perhaps a tab and "
            f"{' or '.join(_FLAGS)}, got {line!r}."
        )
    sources = source.split("|")
    targets = target.split("|") if "\t" in line else sources
    if len(targets) == 1:
        targets *= len(sources)
    if len(targets) != len(sources):
        raise ValueError(
            f"{source!r} has {len(sources)} forms and {target!r} {len(targets)}: give as many, or "
            "one target."
        )
    flagged = [flag in given for flag in _FLAGS]
    return [
        Term(one.strip(), other.strip(), *flagged)
        for one, other in zip(sources, targets, strict=True)
    ]
