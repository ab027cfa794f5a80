"""Adds a model's marks to rows of ids, such as those of languages: takes the ids of texts and the
languages asked for, and returns what an engine reads.
"""

import dataclasses
from collections.abc import Sequence

from keras_transformer.config.sentence_marks import Begins, SentenceMarks
from keras_transformer.search.inputs import IdRows
from keras_transformer.search.options import SearchOptions


def without_languages(marks: SentenceMarks, options: SearchOptions) -> tuple[SearchOptions, Begins]:
    """Returns the options that an engine knows, and the ids before texts of their languages.

    Raises:
        ValueError: The model does not know a language.
    """
    begins = marks.begins(options.source_language, options.target_language)
    if options.source_language is None and options.target_language is None:
        return options, begins
    return dataclasses.replace(options, source_language=None, target_language=None), begins


def marked_sources(rows: list[list[int]], begins: Begins) -> list[list[int]]:
    """Returns the rows behind their mark; an empty one stays empty, as its translation does."""
    if not begins.source:
        return rows
    return [[*begins.source, *row] if row else row for row in rows]


def marked_prefixes(
    prefixes: IdRows | None, count: int, begins: Begins
) -> Sequence[Sequence[int]] | None:
    """Returns what each of `count` translations begins with."""
    if not begins.target:
        return prefixes
    return [[*begins.target, *prefix] for prefix in (prefixes or [[]] * count)]
