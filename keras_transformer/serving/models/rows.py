"""A request's arrays, and the rows that a model batches."""

import dataclasses
from collections.abc import Mapping, Sequence, Sized
from typing import Any, NamedTuple

import numpy.typing as npt

from keras_transformer.config.sentence_marks import Begins
from keras_transformer.search.options import SearchOptions
from keras_transformer.text.sentences import Passage

Arrays = Mapping[str, npt.NDArray[Any]]
# Lets bytes that are not UTF-8 pass through a str unchanged.
ANY_BYTES = ("utf-8", "surrogateescape")


class TranslationRow(NamedTuple):
    """A text to translate, or one part of it.

    Attributes:
        source: Its ids, without bos and eos.
        prefix: Ids that the translation begins with.
        max_length: Most tokens of the translation, eos included.
        length_penalty: Exponent of the length penalty.
        begins: The marks of its languages.
    """

    source: Sequence[int]
    prefix: Sequence[int]
    max_length: int
    length_penalty: float
    begins: Begins = Begins()

    def adapt(self, search: SearchOptions) -> SearchOptions:
        """Returns the server's search with the row's own options."""
        if (self.max_length, self.length_penalty) == (search.max_length, search.length_penalty):
            return search
        return dataclasses.replace(
            search,
            max_length=self.max_length,
            min_length=min(search.min_length, self.max_length),
            length_penalty=self.length_penalty,
        )


class PairRow(NamedTuple):
    """A text and the translation to score: ids of both, without bos and eos, and their marks."""

    source: Sequence[int]
    target: Sequence[int]
    begins: Begins = Begins()


def sizes_of(row: Any) -> tuple[int, ...]:
    """Returns the numbers that a row's time grows with: its lengths and its own limits.

    Args:
        row: A text, or a tuple of what a model reads; of two rows for the same function the sizes
            can be compared one by one.
    """
    parts = row if isinstance(row, tuple) else (row,)
    sizes = (len(part) if isinstance(part, Sized) else part for part in parts)
    return tuple(size for size in sizes if isinstance(size, int))


class Request(NamedTuple):
    """What a request asks for.

    Attributes:
        rows: The rows that the model runs on: each a TranslationRow or a PairRow.
        passages: The texts whose parts the rows are, in order; none if rows are not parts of texts.
        cuts: Says of each text that was cut how much of it is read.
    """

    rows: Sequence[Any]
    passages: Sequence[Passage] = ()
    cuts: Sequence[str] = ()
