"""Threads share one batch or take one each, with the same results; each kind of session is opened
only where it is used."""

import dataclasses
import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.export import Manifest
from keras_transformer.runtime import workers as module
from keras_transformer.runtime.translation_engine import Engine
from keras_transformer.runtime.workers import Workers
from keras_transformer.search.options import SearchOptions

THREADS = 2


@pytest.fixture(scope="module")
def manifest(exported: Any) -> Manifest:
    return Manifest.read(exported.path)


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes every model count as large."""
    monkeypatch.setattr(module, "_CACHED_BYTES", 0)


def is_divided(workers: Workers, sentences: int, rows_per_sentence: int) -> bool:
    division = workers.divide(sentences, rows_per_sentence)
    assert (division.graphs is workers.graphs) == (division.at_a_time == 1)
    return division.at_a_time == THREADS


@pytest.mark.parametrize(
    ("precision", "sentences", "rows_per_sentence", "expected"),
    [
        ("float32", 31, 1, False),
        ("float32", 32, 1, True),
        ("float32", 7, 4, False),
        ("float32", 8, 4, True),
        ("int8", 7, 1, False),
        ("int8", 8, 1, True),
        # One sentence cannot be divided, however many samples it has.
        ("int8", 1, 40, False),
        ("int8", 2, 40, True),
    ],
)
def test_a_large_model_s_threads_take_a_batch_each_where_each_has_enough_rows(
    exported: Any,
    manifest: Manifest,
    large: None,
    precision: str,
    sentences: int,
    rows_per_sentence: int,
    expected: bool,
) -> None:
    described = dataclasses.replace(manifest, precision=precision)
    workers = Workers(described, ArtefactFiles(exported.path), THREADS)
    assert is_divided(workers, sentences, rows_per_sentence) == expected


def test_a_small_model_s_threads_never_share_a_batch(exported: Any, manifest: Manifest) -> None:
    workers = Workers(manifest, ArtefactFiles(exported.path), THREADS)
    divisions = [workers.divide(sentences, 1) for sentences in (1, 100)]
    assert all(division.at_a_time == THREADS for division in divisions)
    assert all(division.graphs is workers.graphs for division in divisions)
    options = workers.graphs.open("encoder")["encoder"].get_session_options()
    assert options.intra_op_num_threads == 1


@pytest.fixture
def engines(exported: Any, manifest: Manifest, large: None) -> Iterator[list[Engine]]:
    opened = [
        Engine(manifest, ArtefactFiles(exported.path), threads, None, None)
        for threads in (1, THREADS)
    ]
    yield opened
    for engine in opened:
        engine.close()


@pytest.mark.parametrize("options", [{}, {"beam_size": 3}, {"sample": True, "seed": 3}])
def test_results_are_those_of_one_thread(engines: list[Engine], options: dict[str, Any]) -> None:
    sources = [[5 + place % 7, 9, 6] * (1 + place % 3) for place in range(40)]
    chosen = SearchOptions(max_length=9, **options)
    alone, beside = (engine.search(sources, chosen) for engine in engines)
    assert [one[0].ids for one in beside] == [one[0].ids for one in alone]
    scores = [[one[0].score for one in found] for found in (beside, alone)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-4)


def test_each_kind_of_session_is_opened_where_it_is_used(engines: list[Engine]) -> None:
    workers, options = engines[1]._workers, SearchOptions(max_length=3)
    kinds = workers.graphs._sessions, workers._side_by_side._sessions
    assert [set(sessions) for sessions in kinds] == [{"encoder"}, set()]
    engines[1].search([[5]] * 40, options, with_scores=False)
    assert [set(sessions) for sessions in kinds] == [{"encoder"}, {"encoder", "greedy"}]
    engines[1].search([[5]], options, with_scores=False)
    assert [set(sessions) for sessions in kinds] == [{"encoder", "greedy"}] * 2
    threads = [sessions["greedy"].get_session_options().intra_op_num_threads for sessions in kinds]
    assert threads == [THREADS, 1]


def test_empty_sentences_are_no_work_to_divide(engines: list[Engine]) -> None:
    engines[1].search([[5], *[[]] * 40], SearchOptions(max_length=3), with_scores=False)
    assert not engines[1]._workers._side_by_side._sessions


def test_both_kinds_are_closed(engines: list[Engine]) -> None:
    engines[1].close()
    for sources in ([[5]], [[5]] * 40):
        with pytest.raises(RuntimeError, match="the model is closed"):
            engines[1].search(sources, SearchOptions())


def test_results_come_in_the_order_of_the_batches_and_errors_with_them(
    exported: Any, manifest: Manifest
) -> None:
    workers = Workers(manifest, ArtefactFiles(exported.path), THREADS)
    assert list(workers.map(lambda batch: 2 * batch, range(9), THREADS)) == list(range(0, 18, 2))
    with pytest.raises(ZeroDivisionError):
        workers.map(lambda batch: 1 // batch, [3, 0, 1], THREADS)
    workers.close()
    with pytest.raises(RuntimeError, match="closed"):
        workers.map(str, [1, 2], THREADS)


def test_no_batch_is_begun_after_an_interrupt(exported: Any, manifest: Manifest) -> None:
    workers = Workers(manifest, ArtefactFiles(exported.path), THREADS)
    begun: list[int] = []

    def interrupt_the_first(batch: int) -> None:
        begun.append(batch)
        time.sleep(0.01)
        if batch == 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        workers.map(interrupt_the_first, range(50), THREADS)
    # What was left in the pool would come before these.
    assert workers.map(str, [1, 2], THREADS) == ["1", "2"]
    assert len(begun) < 10


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows does not fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own(exported: Any, manifest: Manifest) -> None:
    workers = Workers(manifest, ArtefactFiles(exported.path), THREADS)
    all_started = threading.Barrier(THREADS)
    workers.map(lambda _: all_started.wait(), range(THREADS), THREADS)
    child = os.fork()
    if child == 0:
        found = None
        try:
            signal.alarm(5)  # Ends a child that hangs.
            found = workers.map(str, [3, 4], THREADS)
        finally:
            os._exit(found != ["3", "4"])
    assert os.waitpid(child, 0)[1] == 0
