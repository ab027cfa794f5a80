"""Searches that are joined at a step find what each finds alone, whenever and however they join."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keras_transformer import OnnxGenerator
from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.artefact.manifest import Manifest
from keras_transformer.runtime import turns
from keras_transformer.runtime.engine import DecoderEngine, _step_graph
from keras_transformer.runtime.loop.beam_search import BeamSearch
from keras_transformer.runtime.loop.one_by_one import OneByOne
from keras_transformer.runtime.loop.requests import DecodedRows
from keras_transformer.runtime.onnx_graphs.decoder_steps import DecoderSteps
from keras_transformer.runtime.translation_engine import Engine
from keras_transformer.runtime.turns import Abandoned, Turns
from keras_transformer.search.options import Candidate, SearchOptions

OPTIONS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "no end early": {"min_length": 6},
    "n-grams": {"no_repeat_ngram_size": 2, "repetition_penalty": 1.2},
    "beams": {"beam_size": 3, "num_hypotheses": 3, "length_penalty": 0.8},
    "exact beams": {"beam_size": 2, "num_hypotheses": 2, "early_stopping": "exact"},
    "samples": {"sample": True, "num_hypotheses": 2, "seed": 5},
    "sample": {"sample": True, "seed": 7, "top_k": 8},
    "stops": {"stop_tokens": [12, 30, 31, 32, 33]},
}
Ids = list[list[list[int]]]


@pytest.fixture(
    scope="module",
    params=["exported_native", "decoder", pytest.param("exported", marks=pytest.mark.exhaustive)],
)
def engine(request: pytest.FixtureRequest, export_small: Callable[..., Any]) -> Iterator[Any]:
    if request.param == "decoder":
        with OnnxGenerator(export_small("decoder", "native").path, threads=1) as generator:
            yield generator.engine
        return
    path = request.getfixturevalue(request.param).path
    opened = Engine(Manifest.read(path), ArtefactFiles(path), 1, None, None)
    yield opened
    opened.close()


def ids_of(found: Sequence[Sequence[Candidate]]) -> Ids:
    return [[list(one.ids) for one in own] for own in found]


def alone(engine: Any, rows: Sequence[list[int]], options: SearchOptions, scores: bool) -> Ids:
    return [ids_of(engine.search([row], options, with_scores=scores))[0] for row in rows]


@contextlib.contextmanager
def begun(
    engine: DecoderEngine, rows: list[list[int]], options: SearchOptions, scores: bool
) -> Iterator[Any]:
    """Yields a search that has not made a step."""
    further = [None] if isinstance(engine, Engine) else []
    checked: DecodedRows = engine._checked(rows, options, *further)  # type: ignore[attr-defined]
    opened = engine._graphs.open(*engine._reads, _step_graph(checked, scores))
    stops = options.stops()
    request = engine._request(checked, [*range(len(rows))], options.seed or 0, scores, stops)
    kind = BeamSearch if options.needs_beams else OneByOne
    with engine._start(opened, checked, request) as (steps, ready):
        yield kind(steps, ready)


ROWS = st.lists(st.lists(st.integers(10, 40), min_size=1, max_size=6), min_size=1, max_size=4)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=list(OPTIONS))
@settings(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(early=ROWS, late=ROWS, limits=st.tuples(*[st.integers(7, 30)] * 2), at=st.integers(1, 20))
def test_rows_that_come_later_find_what_they_find_alone(
    engine: Any,
    options: dict[str, Any],
    early: list[list[int]],
    late: list[list[int]],
    limits: tuple[int, int],
    at: int,
) -> None:
    chosen = [SearchOptions(max_length=limit, **options) for limit in limits]
    scores = chosen[0].sample or chosen[0].needs_beams
    # A seed says what each row of a request draws: a request stays one.
    if chosen[0].sample:
        early, late = early[:1], late[:1]
    with (
        begun(engine, early, chosen[0], scores) as first,
        begun(engine, late, chosen[1], scores) as second,
    ):
        for search, other in ((first, second), (second, first)):
            least = max(search.step, other.step) + at
            while search.goes_on and search.step < least:
                search.advance(least - search.step)
        if first.goes_on and second.goes_on and first.step == second.step:
            first.take_in(second)
        for search in (first, second):
            while search is first and search.goes_on:
                search.advance()
        found = first.results()
        joined = len(found) == len(early) + len(late)
        own = found[len(early) :] if joined else second.results()
        assert ids_of(found[: len(early)]) == alone(engine, early, chosen[0], scores)
        if joined:
            assert ids_of(own) == alone(engine, late, chosen[1], scores)


class Calls:
    """Calls of one engine that run side by side; counts how often one joined another.

    Args:
        engine: The engine.
        monkeypatch: Sets what is counted, and makes each step take a while.
    """

    def __init__(self, engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.engine, self.turns = engine, Turns()
        self.joins, self.rows, self.steps = 0, 0, 0
        self.found: dict[int, Any] = {}
        self._threads: list[threading.Thread] = []
        join, run = DecoderSteps.join, DecoderSteps._run

        def counted(steps: DecoderSteps, other: DecoderSteps) -> None:
            self.joins += 1
            join(steps, other)

        def slow(steps: DecoderSteps, *given: Any) -> None:
            time.sleep(0.002)
            self.rows, self.steps = len(steps._ids), self.steps + 1
            run(steps, *given)

        monkeypatch.setattr(DecoderSteps, "join", counted)
        monkeypatch.setattr(DecoderSteps, "_run", slow)
        # One step a run.
        monkeypatch.setattr(turns, "_FIRST_STEPS", 1)
        monkeypatch.setattr(turns, "_SLICE", 0.0)

    def begin(self, rows: list[list[int]], options: SearchOptions) -> turns.Turn:
        """Begins a call in a thread of its own."""
        turn, number = self.turns.new(), len(self._threads)

        def call() -> None:
            try:
                found = turn.call(lambda: self.engine.search(rows, options))
                self.found[number] = ids_of(found)
            except Abandoned as error:
                self.found[number] = error

        self.begin_thread(call)
        return turn

    def begin_thread(self, call: Callable[..., None], *given: Any) -> None:
        """Begins what makes a call."""
        self._threads.append(threading.Thread(target=call, args=given, daemon=True))
        self._threads[-1].start()

    def wait(self) -> None:
        """Waits until some more steps have been made, or no call is left to make them."""
        least = self.steps + 4
        while self.steps < least and any(one.is_alive() for one in self._threads):
            time.sleep(0.001)

    def join(self) -> None:
        """Waits for all calls."""
        for thread in self._threads:
            thread.join(60)

    def end(self) -> list[Any]:
        """Waits for all calls; returns what each found."""
        self.join()
        return [self.found[number] for number in range(len(self._threads))]


LONG = {"min_length": 25, "max_length": 25}


@pytest.mark.parametrize("more", [{}, {"beam_size": 2}], ids=str)
def test_calls_join_and_get_their_own(
    engine: Any, more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = SearchOptions(**LONG, **more)
    requests = [[[11, 12]], [[13]], [[20, 21, 22], [14]], [[15]]]
    wanted = [alone(engine, rows, options, scores=True) for rows in requests]
    calls, before = Calls(engine, monkeypatch), engine.counts["joined_searches"]
    for rows in requests:
        calls.begin(rows, options)
        calls.wait()
    assert calls.end() == wanted
    assert calls.joins == engine.counts["joined_searches"] - before > 0


def test_calls_of_other_options_stay_apart(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Calls(engine, monkeypatch)
    for beams in (1, 2):
        calls.begin([[11, 12]], SearchOptions(**LONG, beam_size=beams))
    calls.end()
    assert not calls.joins


@pytest.mark.parametrize("leaves", [0, 1])
def test_a_call_that_leaves_takes_its_rows_along(
    engine: Any, leaves: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = SearchOptions(min_length=50, max_length=50)
    rows = [[[11, 12]], [[13]]]
    wanted = alone(engine, rows[1 - leaves], options, scores=True)
    calls, before = Calls(engine, monkeypatch), engine.counts["left_searches"]
    begun_calls = [calls.begin(one, options) for one in rows]
    while not calls.joins:
        time.sleep(0.001)
    begun_calls[leaves].abandon()
    found = calls.end()
    assert found[1 - leaves] == wanted
    assert calls.rows == 1
    assert engine.counts["left_searches"] == before + 1


def test_a_failure_ends_all_calls_of_a_search(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Calls(engine, monkeypatch)
    errors: list[Exception] = []

    def fail(search: Any, *given: Any) -> None:
        raise ValueError("broken")

    def call(rows: list[list[int]]) -> None:
        try:
            turn = calls.turns.new()
            turn.call(lambda: engine.search(rows, SearchOptions(min_length=50, max_length=50)))
        except (ValueError, RuntimeError) as error:
            errors.append(error)

    for one in (11, 12):
        calls.begin_thread(call, [[one]])
    while not calls.joins:
        time.sleep(0.001)
    monkeypatch.setattr(OneByOne, "advance", fail)
    calls.join()
    assert {type(error) for error in errors} == {ValueError, RuntimeError}


def test_streams_join_and_say_what_each_says_alone(
    engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = SearchOptions(**LONG)
    rows = [[11, 12], [13], [20, 21]]
    wanted = [list(engine.stream(row, options)) for row in rows]
    calls = Calls(engine, monkeypatch)
    streamed: dict[int, list[int]] = {number: [] for number in range(len(rows))}

    def stream(number: int) -> None:
        def call() -> None:
            for token in engine.stream(rows[number], options):
                streamed[number].append(token)
                # The second one leaves: its consumer has enough.
                if number == 1 and len(streamed[number]) == 10:
                    return

        calls.turns.new().call(call)

    for number in streamed:
        calls.begin_thread(stream, number)
        calls.wait()
    calls.join()
    assert list(streamed.values()) == [wanted[0], wanted[1][:10], wanted[2]]
    assert calls.joins
