"""Translation memory: what files have translated already, of the same texts and of similar ones."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from keras_transformer.files.codes import has_codes_of
from keras_transformer.files.formats import read_document
from keras_transformer.files.segments import Reading, Segment

# A tag, a placeholder's word and a sign are one each.
_WORD = re.compile(r"<[^<>]*>|\w+|[^\w\s]")


class Similar(NamedTuple):
    """A text of a memory that is similar to another one.

    Attributes:
        text: The text.
        translation: Its translation.
        percent: How many of a hundred words of the longer one need no edit.
    """

    text: str
    translation: str
    percent: int


class Memory:
    """Translations of segments that have the same texts, those with the same context first.

    Args:
        paths: Files of formats that hold texts beside their translations.
        reading: As for the file that is translated.

    Raises:
        OSError: A file cannot be read.
        ValueError: A file is of no such format, or holds no translation.
    """

    def __init__(self, paths: Iterable[Path] = (), reading: Reading | None = None) -> None:
        self._found: dict[tuple[str | None, tuple[str, ...]], tuple[str, ...]] = {}
        for path in paths:
            known = [one for one in read_document(path, reading).segments if _is_known(one)]
            if not known:
                raise ValueError(f"{path} holds no translation that a memory could use.")
            for one in known:
                for context in (one.context, None):
                    self._found.setdefault((context, one.texts), one.given)

    def find(self, segment: Segment) -> tuple[str, ...] | None:
        """Returns the known translation of a segment."""
        exact = self._found.get((segment.context, segment.texts))
        return exact or self._found.get((None, segment.texts))

    def pairs(self) -> dict[str, str]:
        """Returns texts without plural forms, each with its translation."""
        return {
            texts[0]: given[0]
            for (context, texts), given in self._found.items()
            if context is None and len(texts) == len(given) == 1
        }


class SimilarTexts:
    """Finds the most similar one of many texts by its words.

    Args:
        pairs: The translation of each text.
        least: The least percentage that counts, 1 to 100.

    Raises:
        ValueError: `least` is out of range.

    Example:
        >>> texts = SimilarTexts({"Open the old file": "Die alte Datei öffnen"}, 75)
        >>> texts.find("Open the new file").percent
        75
    """

    def __init__(self, pairs: dict[str, str], least: int) -> None:
        if not 1 <= least <= 100:
            raise ValueError(f"fuzzy must be a percentage from 1 to 100, got {least}.")
        self._pairs, self._least = list(pairs.items()), least
        self._words = [_WORD.findall(text) for text, _ in self._pairs]
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        for place, words in enumerate(self._words):
            for word in dict.fromkeys(words):
                self._places[word].append(place)

    def find(self, text: str) -> Similar | None:
        """Returns the most similar text, the first of several; None if none is similar enough."""
        words = _WORD.findall(text)
        best, found = self._least - 1, None
        for place in self._candidates(words):
            own = self._words[place]
            longer = max(len(words), len(own))
            most = longer * (99 - best) // 100
            edits = _edits(words, own, most)
            if edits <= most:
                best, found = 100 * (longer - edits) // longer, place
        return None if found is None else Similar(*self._pairs[found], best)

    def _candidates(self, words: Sequence[str]) -> Iterator[int]:
        """Yields the places of texts that share enough words.

        They have one at least of the rarest words, if so many are taken that all others are too
        few without them.
        """
        needed = -(-self._least * len(words) // 100)
        rarest = sorted(words, key=lambda word: len(self._places.get(word, ())))
        own = Counter(words)
        seen = {
            place
            for word in rarest[: len(words) - needed + 1]
            for place in self._places.get(word, ())
        }
        for place in sorted(seen):
            sizes = len(words), len(others := self._words[place])
            least = self._least * max(sizes)
            if min(sizes) * 100 >= least and (own & Counter(others)).total() * 100 >= least:
                yield place


def _edits(one: Sequence[str], other: Sequence[str], most: int) -> int:
    """Returns how many words must be replaced, left out or put in (Levenshtein 1966), or any number
    above `most`.
    """
    row = list(range(len(other) + 1))
    for count, word in enumerate(one, start=1):
        before, row[0] = row[0], count
        for place, wanted in enumerate(other, start=1):
            cost = before + (word != wanted)
            before = row[place]
            row[place] = min(cost, before + 1, row[place - 1] + 1)
        if min(row) > most:
            return most + 1
    return row[-1]


def _is_known(segment: Segment) -> bool:
    return (
        segment.state == "translated"
        and bool(segment.given)
        and all(map(has_codes_of, segment.texts, segment.given))
    )
