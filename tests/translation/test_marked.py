"""Marks of rows: sources and prefixes begin with them, and engines never see a language."""

from keras_transformer.config.sentence_marks import Begins, SentenceMarks
from keras_transformer.search.options import SearchOptions
from keras_transformer.translation.marked import (
    marked_prefixes,
    marked_sources,
    without_languages,
)

MARKS = SentenceMarks(languages={"en": 20, "de": 21}, source_language="en", target_language="de")


def test_options_lose_their_languages() -> None:
    options, begins = without_languages(MARKS, SearchOptions(beam_size=3, target_language="en"))
    assert options == SearchOptions(beam_size=3)
    assert begins == Begins((20,), (20,))


def test_sources_begin_with_their_mark_unless_they_are_empty() -> None:
    assert marked_sources([[7, 8], []], Begins((20,), ())) == [[20, 7, 8], []]
    rows = [[7]]
    assert marked_sources(rows, Begins()) is rows


def test_prefixes_begin_with_their_mark_given_or_not() -> None:
    begins = Begins((), (21,))
    assert marked_prefixes(None, 2, begins) == [[21], [21]]
    assert marked_prefixes([[5], []], 2, begins) == [[21, 5], [21]]
    assert marked_prefixes(None, 2, Begins()) is None
