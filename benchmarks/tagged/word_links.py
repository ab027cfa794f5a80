"""Which words of parallel texts are translations of each other, by IBM's model 1 (Brown et al.
1993): an aligner that knows nothing of the models that are measured.
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


def word_links(sources: Sequence[str], targets: Sequence[str]) -> list[set[Link]]:
    """Returns of each pair which words of both texts choose each other.

    Args:
        sources: Texts.
        targets: Their translations.

    Returns:
        Pairs of places among `words_of` the source and the target.
    """
    sides = [_numbered(texts) for texts in (sources, targets)]
    forward, backward = _best(*sides), _best(*reversed(sides))
    return [
        {(one, other) for other, one in enumerate(there) if back[one] == other}
        for there, back in zip(forward, backward, strict=True)
    ]


def _numbered(texts: Sequence[str]) -> list[npt.NDArray[np.int64]]:
    known: dict[str, int] = {}
    return [
        np.array([known.setdefault(one[0].lower(), len(known)) for one in words_of(text)], np.int64)
        for text in texts
    ]


def _best(
    sources: Sequence[npt.NDArray[np.int64]], targets: Sequence[npt.NDArray[np.int64]]
) -> list[list[int]]:
    """Returns for each word of each target the place of the word of the source that it is most
    likely a translation of.
    """
    pairs = list(zip(sources, targets, strict=True))
    # Of each word of a target a cell for every word of its source.
    from_words = np.concatenate([np.tile(source, len(target)) for source, target in pairs])
    to_words = np.concatenate([np.repeat(target, len(source)) for source, target in pairs])
    widths = np.concatenate([np.full(len(target), len(source)) for source, target in pairs])
    rows = np.repeat(np.arange(len(widths)), widths)
    both, cells = np.unique(from_words * (to_words.max() + 1) + to_words, return_inverse=True)
    given = both // (to_words.max() + 1)
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
        found.append(table.argmax(axis=1).tolist())
        first += size
    return found
