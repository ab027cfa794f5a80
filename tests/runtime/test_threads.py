"""Many threads share one translator: each gets its own results and its own errors, and closing it
ends with a clear word and never with a crash."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from keras_transformer.export import OnnxTranslator

WORKERS = 8
OPTIONS: list[dict[str, Any]] = [
    {},
    {"max_length": 3},
    {"beam_size": 2, "length_penalty": 0.0},
    {"beam_size": 4, "num_hypotheses": 3, "max_length": 12},
    {"beam_size": 3, "length_penalty": 1.5},
    {"sample": True, "seed": 7, "num_hypotheses": 2, "max_length": 12},
]
BAD_CALLS = [
    ({"beam_size": 0}, ["hello"], ValueError, "beam_size"),
    ({}, "hello", TypeError, "texts"),
    ({}, ["hello", 3], TypeError, "index 1"),
    ({"beam_size": 2, "num_hypotheses": 3}, ["hello"], ValueError, "num_hypotheses"),
]
CALLS: dict[str, Callable[[OnnxTranslator], object]] = {
    "translate": lambda translator: translator.translate(["hello"]),
    "no text": lambda translator: translator.translate([]),
    "n best": lambda translator: translator.translate_n_best(["hello"], beam_size=2),
    "ids": lambda translator: translator.translate_ids([[5, 6]]),
}


@pytest.fixture
def translator(exported: Any) -> Iterator[OnnxTranslator]:
    with OnnxTranslator(exported.path, threads=1) as opened:
        yield opened


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(WORKERS) as executor:
        yield executor


def found(translator: OnnxTranslator, texts: list[str], options: dict[str, Any]) -> Any:
    hypotheses = translator.translate_n_best(texts, **{"max_length": 20, **options})
    return [[(one.text, one.ids) for one in few] for few in hypotheses]


def test_results_and_errors_are_those_of_one_thread(
    translator: OnnxTranslator, pool: ThreadPoolExecutor, texts: list[str]
) -> None:
    batches = [texts, texts[:1], texts[::-1], [texts[2], "", texts[5]]]
    calls = [(batch, options) for options in OPTIONS for batch in batches]
    expected = [found(translator, batch, options) for batch, options in calls]
    start = threading.Barrier(WORKERS)

    def work(worker: int) -> None:
        start.wait()
        for number in range(len(calls)):
            if worker == 0:
                options, bad, error, message = BAD_CALLS[number % len(BAD_CALLS)]
                with pytest.raises(error, match=message):
                    translator.translate_n_best(bad, **options)
                continue
            # Each worker begins elsewhere, so that different options run at the same time.
            place = (number + 5 * worker) % len(calls)
            assert found(translator, *calls[place]) == expected[place]

    for done in [pool.submit(work, worker) for worker in range(WORKERS)]:
        done.result()
    assert found(translator, *calls[0]) == expected[0]


@pytest.mark.parametrize("call", CALLS.values(), ids=list(CALLS))
def test_a_closed_translator_says_so(exported: Any, call: Callable[..., object]) -> None:
    translator = OnnxTranslator(exported.path, threads=1)
    call(translator)
    translator.close()
    with pytest.raises((RuntimeError, ValueError), match="closed"):
        call(translator)


def test_closing_twice_is_fine(exported: Any) -> None:
    translator = OnnxTranslator(exported.path, threads=1)
    translator.close()
    translator.close()


def test_it_can_be_opened_for_a_block(exported: Any, texts: list[str]) -> None:
    with OnnxTranslator(exported.path, threads=1) as translator:
        assert len(translator.translate(texts, max_length=5)) == len(texts)
    with pytest.raises((RuntimeError, ValueError), match="closed"):
        translator.translate(texts)


def test_an_error_in_the_block_is_passed_on_and_the_translator_closed(exported: Any) -> None:
    with pytest.raises(KeyError, match="mine"), OnnxTranslator(exported.path) as translator:
        raise KeyError("mine")
    with pytest.raises((RuntimeError, ValueError), match="closed"):
        translator.translate(["hello"])


def test_one_closed_translator_leaves_another_open(exported: Any, texts: list[str]) -> None:
    first, second = (OnnxTranslator(exported.path, threads=1) for _ in range(2))
    expected = found(first, texts, {})
    first.close()
    assert found(second, texts, {}) == expected


@pytest.mark.parametrize("attempt", range(3))
def test_closing_while_others_run_lets_them_finish_or_says_so(
    exported: Any, pool: ThreadPoolExecutor, texts: list[str], attempt: int
) -> None:
    translator = OnnxTranslator(exported.path, threads=1)
    expected = found(translator, texts, {"beam_size": 3})
    running = threading.Barrier(WORKERS + 1)

    def work() -> int:
        running.wait()
        for number in range(1000):
            try:
                assert found(translator, texts, {"beam_size": 3}) == expected
            except (RuntimeError, ValueError) as error:
                assert "closed" in str(error)
                return number
        raise AssertionError("it was never closed")

    futures = [pool.submit(work) for _ in range(WORKERS)]
    running.wait()
    threading.Event().wait(0.05 * attempt)  # While the first, or a later, round is running.
    translator.close()
    for future in futures:
        future.result(timeout=60)


def test_threads_may_close_at_the_same_time(exported: Any, pool: ThreadPoolExecutor) -> None:
    translator = OnnxTranslator(exported.path, threads=1)
    start = threading.Barrier(WORKERS)

    def close() -> None:
        start.wait()
        translator.close()

    for done in [pool.submit(close) for _ in range(WORKERS)]:
        done.result()
