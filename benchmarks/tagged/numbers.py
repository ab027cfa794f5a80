"""What people do by hand: numbers in the place of what a translation must keep."""

import itertools
import re
from collections.abc import Callable, Sequence

from .fragments import TAG

_FIRST_NUMBER = 1001


def by_numbers(
    texts: Sequence[str],
    translate: Callable[[list[str]], list[str]],
    kept: re.Pattern[str] = TAG,
) -> list[str]:
    """Translates texts with numbers in the place of what matches `kept`, and puts it back."""
    spans = [[one[0] for one in kept.finditer(text)] for text in texts]
    found = translate([_numbered(text, kept) for text in texts])
    return [_put_back(text, own) for text, own in zip(found, spans, strict=True)]


def _numbered(text: str, kept: re.Pattern[str]) -> str:
    numbers = itertools.count(_FIRST_NUMBER)
    return " ".join(kept.sub(lambda _: f" {next(numbers)} ", text).split())


def _put_back(text: str, spans: Sequence[str]) -> str:
    known = dict(zip(map(str, itertools.count(_FIRST_NUMBER)), spans, strict=False))
    return re.sub(r" ?(\d+) ?", lambda found: known.get(found[1], found[0]), text)
