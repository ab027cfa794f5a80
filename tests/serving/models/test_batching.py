"""The batcher with a scripted model: batches, order, bounds, failures and requests that leave."""

import asyncio
import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.serving.errors import Code, ServingError
from keras_transformer.serving.models import batching
from keras_transformer.serving.models.batching import Batcher


class Model:
    """Doubles numbers once it is let; fails at a negative one; remembers its batches."""

    def __init__(self, *, is_free: bool = True) -> None:
        self.batches: list[list[int]] = []
        self.free = threading.Event()
        if is_free:
            self.free.set()

    def double(self, rows: Sequence[int]) -> list[int]:
        self.batches.append(list(rows))
        assert self.free.wait(10)
        if min(rows) < 0:
            raise ValueError(f"negative: {min(rows)}")
        return [2 * row for row in rows]

    def halve(self, rows: Sequence[int]) -> list[float]:
        self.batches.append(list(rows))
        assert self.free.wait(10)
        return [row / 2 for row in rows]


def run(work: Callable[[Batcher], Any], **options: Any) -> Any:
    """Runs a coroutine function on a batcher."""
    sizes: list[int] = []
    chosen = {"max_batch": 4, "max_wait": 0.0, "max_queue": 8, "observe": sizes.append}

    async def inside() -> Any:
        batcher = Batcher(**{**chosen, **options})
        try:
            async with asyncio.timeout(20):
                return await work(batcher)
        finally:
            batcher.close()

    return asyncio.run(inside())


async def begin(batcher: Batcher, run: Any, *requests: list[int]) -> list[asyncio.Task]:
    """Submits requests one after the other, without waiting for their results."""
    tasks = []
    for rows in requests:
        tasks.append(asyncio.create_task(batcher.submit(run, rows)))
        await asyncio.sleep(0)
    return tasks


async def occupy(batcher: Batcher, model: Model) -> asyncio.Task:
    """Keeps the model at work with a request of its own."""
    [task] = await begin(batcher, model.double, [0])
    while not model.batches:
        await asyncio.sleep(0.001)
    return task


def test_what_waits_while_the_model_works_becomes_one_batch() -> None:
    model = Model(is_free=False)

    async def work(batcher: Batcher) -> list[list[int]]:
        first = await occupy(batcher, model)
        tasks = await begin(batcher, model.double, [1], [2, 3], [4])
        assert batcher.waiting == 4
        model.free.set()
        jobs = await asyncio.gather(first, *tasks)
        assert [job.largest_batch for job in jobs] == [1, 4, 4, 4]
        assert all(job.started >= job.arrived for job in jobs)
        return [job.results for job in jobs]

    assert run(work) == [[0], [2], [4, 6], [8]]
    assert model.batches == [[0], [1, 2, 3, 4]]


def test_a_large_request_goes_in_parts_and_others_fill_its_last_one() -> None:
    model = Model(is_free=False)

    async def work(batcher: Batcher) -> list[list[int]]:
        first = await occupy(batcher, model)
        tasks = await begin(batcher, model.double, [1, 2, 3, 4, 5, 6], [7])
        model.free.set()
        return [job.results for job in await asyncio.gather(first, *tasks)]

    assert run(work)[1:] == [[2, 4, 6, 8, 10, 12], [14]]
    assert model.batches == [[0], [1, 2, 3, 4], [5, 6, 7]]


def test_only_the_same_function_is_joined_and_the_oldest_goes_first() -> None:
    model = Model(is_free=False)

    async def work(batcher: Batcher) -> list[Any]:
        first = await occupy(batcher, model)
        halves = await begin(batcher, model.halve, [1])
        doubles = await begin(batcher, model.double, [2])
        halves += await begin(batcher, model.halve, [3])
        model.free.set()
        jobs = await asyncio.gather(first, *halves, *doubles)
        return [job.results for job in jobs]

    assert run(work) == [[0], [0.5], [1.5], [4]]
    assert model.batches == [[0], [1, 3], [2]]


def test_a_full_queue_refuses_and_takes_again() -> None:
    model = Model(is_free=False)

    async def work(batcher: Batcher) -> list[int]:
        first = await occupy(batcher, model)
        tasks = await begin(batcher, model.double, [1] * 8)
        with pytest.raises(
            ServingError, match="8 sentences are waiting, and the limit is 8"
        ) as error:
            await batcher.submit(model.double, [2])
        assert error.value.code is Code.RESOURCE_EXHAUSTED
        model.free.set()
        await asyncio.gather(first, *tasks)
        return (await batcher.submit(model.double, [2])).results

    assert run(work) == [4]


def test_who_leaves_takes_the_waiting_rows_along() -> None:
    model = Model(is_free=False)

    async def work(batcher: Batcher) -> None:
        first = await occupy(batcher, model)
        leaving, staying = await begin(batcher, model.double, [1, 2], [3])
        leaving.cancel()
        await asyncio.sleep(0)
        assert batcher.waiting == 1
        model.free.set()
        await asyncio.gather(first, staying)
        with pytest.raises(asyncio.CancelledError):
            await leaving

    run(work)
    assert model.batches == [[0], [3]]


def test_who_leaves_during_its_batch_harms_nobody() -> None:
    model = Model(is_free=False)

    async def work(batcher: Batcher) -> list[int]:
        first = await occupy(batcher, model)
        first.cancel()
        [other] = await begin(batcher, model.double, [3])
        model.free.set()
        return (await other).results

    assert run(work) == [6]


def test_a_failure_is_its_own_requests_only(caplog) -> None:
    model = Model(is_free=False)

    async def work(batcher: Batcher) -> list[Any]:
        first = await occupy(batcher, model)
        tasks = await begin(batcher, model.double, [1], [-2], [3])
        model.free.set()
        return await asyncio.gather(first, *tasks, return_exceptions=True)

    _, one, failed, three = run(work)
    assert (one.results, three.results) == ([2], [6])
    assert isinstance(failed, ServingError) and failed.code is Code.INTERNAL
    # The log says what happened; the client learns the kind only.
    assert "negative" not in failed.message and "ValueError" in failed.message
    assert "negative: -2" in caplog.text
    assert model.batches == [[0], [1, -2, 3], [1], [-2], [3]]


def test_a_part_that_fails_ends_the_request_and_frees_the_queue(caplog) -> None:
    model = Model()

    async def work(batcher: Batcher) -> int:
        with pytest.raises(ServingError):
            await batcher.submit(model.double, [-1, 1, 1, 1, 2, 2, 2, 2])
        return batcher.waiting

    assert run(work) == 0


@pytest.mark.parametrize("rows", [[1], [1, 2, 3, 4]], ids=["waits", "is full"])
def test_a_free_model_waits_for_a_batch_to_fill_but_not_longer(rows) -> None:
    model = Model()

    async def work(batcher: Batcher) -> float:
        started = time.perf_counter()
        tasks = await begin(batcher, model.double, *([row] for row in rows))
        await asyncio.gather(*tasks)
        return time.perf_counter() - started

    seconds = run(work, max_wait=0.2)
    assert model.batches == [rows]
    assert seconds >= 0.2 if len(rows) == 1 else seconds < 0.2


@given(
    requests=st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=6), max_size=12),
    max_batch=st.integers(1, 5),
    leaving=st.sets(st.integers(0, 11)),
)
def test_every_request_gets_its_own_rows_results(requests, max_batch, leaving) -> None:
    model = Model()

    async def work(batcher: Batcher) -> list[Any]:
        tasks = await begin(batcher, model.double, *requests)
        for number in leaving & set(range(len(tasks))):
            tasks[number].cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    found = run(work, max_batch=max_batch, max_queue=1000)
    for number, (rows, job) in enumerate(zip(requests, found, strict=True)):
        if number not in leaving:
            assert job.results == [2 * row for row in rows]
    assert max(map(len, model.batches), default=0) <= max_batch


class Threads:
    """A model that remembers which thread each batch ran in."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.names: list[str] = []
        self._seconds = seconds

    def echo(self, rows: Sequence[int]) -> list[int]:
        self.names.append(threading.current_thread().name)
        time.sleep(self._seconds)
        return list(rows)

    @property
    def aside(self) -> list[bool]:
        """Of each batch, whether it ran beside the event loop."""
        return [name.startswith("model") for name in self.names]


@pytest.fixture
def all_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine makes no model slow."""
    monkeypatch.setattr(batching, "_QUICK_SECONDS", 20.0)


async def ask(batcher: Batcher, run: Any, row: Any) -> Any:
    """Sends a row as the server does, and returns its result."""
    results = await batcher.at_once(run, [row], math.inf)
    if results is None:
        results = (await batcher.submit(run, [row])).results
    return results[0]


def ask_at_once(model: Threads, times: int, **options: Any) -> list[bool]:
    """Sends a row so many times; returns which ran beside the event loop."""

    async def work(batcher: Batcher) -> None:
        for _ in range(times):
            assert await ask(batcher, model.echo, 7) == 7

    run(work, **options)
    return model.aside


def test_a_lone_row_needs_no_thread_once_the_model_was_quick_with_one(all_is_quick) -> None:
    assert ask_at_once(Threads(), 3) == [True, False, False]


def test_a_slow_model_never_holds_up_the_event_loop() -> None:
    assert ask_at_once(Threads(seconds=0.05), 3) == [True, True, True]


def test_where_a_batch_may_fill_a_lone_row_waits_for_company(all_is_quick) -> None:
    assert ask_at_once(Threads(), 2, max_wait=0.01) == [True, True]


@pytest.mark.parametrize(
    ("rows", "aside"),
    [
        # A source, and the most tokens of its translation.
        ([("abc", 9), ("abc", 9), ("ab", 8), ("abc", 9)], [True, False, False, False]),
        ([("abc", 9), ("abcd", 9), ("abc", 9), ("abcd", 9)], [True, True, False, False]),
        ([("abc", 9), ("a", 256), ("a", 256)], [True, True, False]),
        (["abc", "abcd", "abcd", ""], [True, True, False, False]),
    ],
    ids=["within", "longer", "more to answer", "texts"],
)
def test_a_row_needs_no_thread_if_one_as_large_was_quick(all_is_quick, rows, aside) -> None:
    model = Threads()

    async def work(batcher: Batcher) -> None:
        for row in rows:
            assert await ask(batcher, model.echo, row) == row

    run(work)
    assert model.aside == aside


def test_a_slow_row_keeps_those_of_its_sizes_out_of_the_event_loop(monkeypatch) -> None:
    monkeypatch.setattr(batching, "_QUICK_SECONDS", 0.3)
    model = Threads()

    def echo(rows: Sequence[tuple[str, float]]) -> list[Any]:
        time.sleep(rows[0][1])
        return model.echo(rows)

    async def work(batcher: Batcher) -> None:
        for seconds in (0.0, 0.0, 0.4, 0.4, 0.0, 0.0):
            await ask(batcher, echo, ("abc", seconds))

    run(work)
    assert model.aside == [True, False, False, True, True, False]


def test_each_function_has_sizes_of_its_own(all_is_quick) -> None:
    model = Model()

    async def work(batcher: Batcher) -> None:
        assert await ask(batcher, model.double, 6) == 12
        assert await batcher.at_once(model.halve, [2], math.inf) is None
        assert await batcher.at_once(model.double, [2], math.inf) == [4]

    run(work)


def test_a_row_without_time_left_is_not_begun(all_is_quick) -> None:
    model = Model()

    async def work(batcher: Batcher) -> None:
        await ask(batcher, model.double, 2)
        with pytest.raises(TimeoutError):
            await batcher.at_once(model.double, [1], asyncio.get_running_loop().time())

    run(work)
    assert model.batches == [[2]]


def test_rows_that_come_together_become_a_batch(all_is_quick) -> None:
    model = Threads()

    async def ask_with_others(batcher: Batcher) -> int:
        assert await batcher.at_once(model.echo, [3], math.inf) is None
        job = await batcher.submit(model.echo, [3])
        return job.largest_batch

    async def work(batcher: Batcher) -> list[int]:
        await ask(batcher, model.echo, 3)
        return await asyncio.gather(*(ask_with_others(batcher) for _ in range(4)))

    assert run(work) == [4, 4, 4, 4]
    assert model.aside == [True, True]


def test_a_row_that_fails_at_once_says_no_more_than_one_that_waited(all_is_quick, caplog) -> None:
    model = Model()

    async def work(batcher: Batcher) -> None:
        await ask(batcher, model.double, 2)
        for _ in range(2):
            with pytest.raises(ServingError, match="ValueError") as error:
                await batcher.at_once(model.double, [-3], math.inf)
            assert error.value.code is Code.INTERNAL
            assert "negative" not in error.value.message
        assert await batcher.at_once(model.double, [2], math.inf) == [4]

    run(work)
    assert "negative: -3" in caplog.text


def test_who_leaves_before_its_row_is_done_at_once_harms_nobody(all_is_quick) -> None:
    model = Model()

    async def work(batcher: Batcher) -> list[int] | None:
        await ask(batcher, model.double, 3)
        leaving = asyncio.create_task(batcher.at_once(model.double, [2], math.inf))
        await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        return await batcher.at_once(model.double, [3], math.inf)

    assert run(work) == [6]
    assert model.batches == [[3], [3]]
