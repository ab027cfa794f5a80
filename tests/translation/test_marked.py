"""Marks of rows: sources and prefixes begin with them, and engines never see a language."""

from typing import Any

import numpy as np

from keras_transformer.config.sentence_marks import Begins, SentenceMarks
from keras_transformer.search.options import Candidate, SearchOptions
from keras_transformer.translation.engine import Alignment, tokens_of
from keras_transformer.translation.marked import MarkedEngine, without_languages

MARKS = SentenceMarks(languages={"en": 20, "de": 21}, source_language="en", target_language="de")


def test_options_lose_their_languages() -> None:
    options = without_languages(SearchOptions(beam_size=3, target_language="en"))
    assert options == SearchOptions(beam_size=3)


class Recorder:
    """An engine that returns what it was given."""

    limits, model_dim = None, 4

    def search(
        self,
        sources: Any,
        options: Any,
        prefixes: Any,
        *,
        with_scores: bool,
        stops: Any,
        phrases: Any,
    ) -> Any:
        return [("search", sources, prefixes, with_scores)]

    def stream(self, source: Any, options: Any, prefix: Any) -> Any:
        return iter([("stream", source, prefix)])

    def align(self, sources: Any, targets: Any) -> Any:
        return [
            Alignment(np.zeros(len(target)), np.arange(6.0).reshape(2, 3))
            for _, target in zip(sources, targets, strict=True)
        ]

    def attend(self, sources: Any, targets: Any) -> Any:
        return [one.attention for one in self.align(sources, targets)]

    def encoder_states(self, sources: Any) -> Any:
        return sources


def test_an_engine_of_one_pair_of_languages_adds_the_marks() -> None:
    engine: Any = MarkedEngine(Recorder(), [Begins((20,), (21,))])  # type: ignore[arg-type]
    options = SearchOptions()
    [found] = engine.search([[7], []], options)
    assert found == ("search", [[20, 7], []], [[21], [21]], True)
    [found] = engine.search([[7], [8]], options, [[5], []])
    assert found == ("search", [[20, 7], [20, 8]], [[21, 5], [21]], True)
    assert list(engine.stream([7], options, [5])) == [("stream", [20, 7], [21, 5])]
    assert engine.encoder_states([[7]]) == [[20, 7]]
    [alignment] = engine.align([[7]], [[21, 8]])
    [attention] = engine.attend([[7]], [[21, 8]])
    for one in (alignment.attention, attention):
        np.testing.assert_array_equal(one, [[1, 2], [4, 5]])


def test_nothing_is_streamed_before_a_search_that_is_certain_of_nothing_is_over() -> None:
    class Searched(Recorder):
        def search(self, sources: Any, options: Any, prefixes: Any, **_: Any) -> Any:
            return [[Candidate([*prefixes[0], *sources[0]], 0.0, 0.0)]]

    engine: Any = MarkedEngine(Searched(), [Begins((20,), (21,))])  # type: ignore[arg-type]
    exact = SearchOptions(early_stopping="exact")
    assert list(tokens_of(engine, [7], exact, [5])) == [21, 5, 20, 7]
    phrases = (((5,),),)
    assert list(tokens_of(engine, [7], SearchOptions(), [5], None, phrases)) == [21, 5, 20, 7]
    sampled = SearchOptions(early_stopping="exact", sample=True)
    assert list(tokens_of(engine, [7], sampled, [5])) == [("stream", [20, 7], [21, 5])]


def test_an_engine_without_marks_passes_rows_on() -> None:
    engine: Any = MarkedEngine(Recorder(), [Begins()])  # type: ignore[arg-type]
    [found] = engine.search([[7]], SearchOptions(), None)
    assert found == ("search", [[7]], None, True)
    [alignment] = engine.align([[7]], [[8]])
    assert alignment.attention.shape == (2, 3)
