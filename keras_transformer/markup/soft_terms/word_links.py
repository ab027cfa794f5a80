"""Which words of parallel texts are translations of each other, by IBM's model 1 (Brown et al.
1993), in both directions.
"""

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_WORDS = re.compile(r"\w+|[^\w\s]")
_ROUNDS = 5
Link = tuple[int, int]


def words_of(text: str) -> list[re.Match[str]]:
    """Returns the words and signs of a text."""
    return list(_WORDS.finditer(text))


def words_in(text: str) -> list[str]:
    """Returns what the `words_of` a text are."""
    return _WORDS.findall(text)


def word_links(
    sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]
) -> list[set[Link]]:
    """Returns of each pair which words of both texts choose each other.

    Args:
        sources: The words of texts.
        targets: Those of their translations.

    Returns:
        Places of a word of the source and one of the target.
    """
    sides = [_numbered(texts) for texts in (sources, targets)]
    if not any(len(one) and len(other) for one, other in zip(*sides, strict=True)):
        return [set() for _ in sources]
    forward, backward = _best(*sides), _best(*reversed(sides))
    return [
        {(one, other) for other, one in enumerate(there) if back[one] == other}
        for there, back in zip(forward, backward, strict=True)
    ]


def _numbered(texts: Sequence[Sequence[str]]) -> list[npt.NDArray[np.int64]]:
    known: dict[str, int] = {}
    return [
        np.array([known.setdefault(word.lower(), len(known)) for word in text], np.int64)
        for text in texts
    ]


def _best(
    sources: Sequence[npt.NDArray[np.int64]], targets: Sequence[npt.NDArray[np.int64]]
) -> list[list[int]]:
    """Returns for each word of each target the place of the word of the source that it is most
    likely a translation of.
    """
    pairs = list(zip(sources, targets, strict=True))
    most = max(int(target.max(initial=0)) for target in targets) + 1
    # Of each word of a target a cell for every word of its source.
    keys = np.concatenate([np.add.outer(target, source * most).ravel() for source, target in pairs])
    both, cells = np.unique(keys, return_inverse=True)
    del keys
    cells, given = cells.astype(np.int32), (both // most).astype(np.int32)
    widths = np.concatenate([np.full(len(target), len(source)) for source, target in pairs])
    rows = np.repeat(np.arange(len(widths), dtype=np.int32), widths)
    chances = np.ones(len(both))
    for _ in range(_ROUNDS):
        shares = chances[cells]
        shares /= np.bincount(rows, shares)[rows]
        counts = np.bincount(cells, shares)
        chances = counts / np.bincount(given, counts)[given]
    found, first = [], 0
    for source, target in pairs:
        size = len(source) * len(target)
        table = chances[cells[first : first + size]].reshape(len(target), len(source))
        found.append(table.argmax(axis=1).tolist() if size else [])
        first += size
    return found
