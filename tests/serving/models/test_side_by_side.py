"""Batches side by side: a much shorter one begins while others run, and who leaves ends his own."""

import asyncio
import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

from keras_transformer.runtime.turns import current_turn
from keras_transformer.serving.models import batching
from keras_transformer.serving.models.batching import Batcher


class Row(NamedTuple):
    """A row with a limit, as those of generators have one."""

    max_length: int
    options: str = ""


class Model:
    """Answers rows with their limits; rows that take more than 10 steps when it is let.

    Args:
        seconds: What its first batch takes at least.
    """

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.batches: list[list[Row]] = []
        self.free = threading.Event()

    def run(self, rows: Sequence[Row]) -> list[int]:
        self.batches.append(list(rows))
        if len(self.batches) == 1:
            time.sleep(self.seconds)
        if max(row.max_length for row in rows) > 10:
            assert self.free.wait(10)
        return [row.max_length for row in rows]


@pytest.fixture(autouse=True)
def all_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every batch that runs counts as one that takes long."""
    monkeypatch.setattr(batching, "_LONG_SECONDS", 0.0)


def answers(model: Model, requests: Sequence[list[Row]], max_running: int = 2) -> list[list[int]]:
    """Sends requests, one after the other; returns what is answered before the model is let, too.

    The last ones are answered only then.
    """

    async def work() -> list[list[int]]:
        batcher = Batcher(
            max_batch=4, max_wait=0, max_queue=9, observe=lambda _: None, max_running=max_running
        )
        found: list[list[int]] = []

        async def ask(rows: list[Row]) -> None:
            found.append((await batcher.submit(model.run, rows)).results)

        async with asyncio.timeout(20):
            tasks = []
            for rows in requests:
                tasks.append(asyncio.create_task(ask(rows)))
                await asyncio.sleep(0.02 + 1.5 * model.seconds)
            model.free.set()
            await asyncio.gather(*tasks)
        batcher.close()
        return found

    return asyncio.run(work())


LONG, MIDDLE, SHORT = Row(100), Row(60), Row(5)


def test_a_much_shorter_batch_begins_beside_a_long_one() -> None:
    assert answers(Model(), [[LONG], [SHORT], [SHORT]]) == [[5], [5], [100]]


@pytest.mark.parametrize(("seconds", "first"), [(0.15, 5), (0.0, 100)])
def test_beside_a_batch_that_is_going_to_take_long_a_shorter_one_begins_at_once(
    monkeypatch: pytest.MonkeyPatch, seconds: float, first: int
) -> None:
    # A hundred steps are too long where the first five take an eighth of a second.
    monkeypatch.setattr(batching, "_LONG_SECONDS", 2.5)
    assert answers(Model(seconds), [[SHORT], [LONG], [SHORT]])[1] == [first]


def test_what_takes_about_as_long_waits_for_the_next_batch() -> None:
    model = Model()
    answers(model, [[LONG], [MIDDLE], [MIDDLE]])
    assert model.batches == [[LONG], [MIDDLE, MIDDLE]]


def test_a_short_request_passes_long_ones_that_wait() -> None:
    assert answers(Model(), [[LONG], [MIDDLE], [SHORT]])[0] == [5]


def test_no_more_batches_than_allowed_run_side_by_side() -> None:
    assert answers(Model(), [[LONG], [SHORT]], max_running=1) == [[100], [5]]


def test_rows_of_other_options_are_no_part_of_a_batch() -> None:
    model, other = Model(), Row(60, "other")
    answers(model, [[LONG], [MIDDLE], [other], [MIDDLE]])
    assert model.batches == [[LONG], [MIDDLE, MIDDLE], [other]]


@pytest.mark.parametrize("staying", [0, 1])
def test_a_batch_ends_when_all_who_wait_for_it_have_left(staying: int) -> None:
    runs = threading.Event()

    def count(rows: Sequence[Any]) -> list[Any]:
        """Makes steps until it is abandoned, or 300 have been made."""
        turn, steps = current_turn(), 0
        while steps < 300:
            with turn.run():
                runs.set()
                threading.Event().wait(0.001)
            steps += 1
        return rows

    async def work() -> list[Any]:
        batcher = Batcher(max_batch=4, max_wait=0, max_queue=9, observe=lambda _: None)
        tasks = [asyncio.create_task(batcher.submit(count, [number])) for number in range(2)]
        await asyncio.to_thread(runs.wait, 10)
        for task in tasks[staying:]:
            task.cancel()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        while batcher.running:
            await asyncio.sleep(0.001)
        batcher.close()
        return found

    seconds = asyncio.run(_timed(work))
    assert (seconds < 0.3) == (not staying)


async def _timed(work: Any) -> float:
    loop = asyncio.get_running_loop()
    began = loop.time()
    await work()
    return loop.time() - began
