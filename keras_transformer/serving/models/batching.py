"""Dynamic batching: the rows of many requests wait together, run as one batch, and each request
gets the results of its own rows. Beside a long batch others may begin.
"""

import asyncio
import dataclasses
import itertools
import math
import operator
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

from keras_transformer.runtime.turns import Abandoned, Turn, Turns
from keras_transformer.serving.errors import Code, ServingError, failure_of
from keras_transformer.serving.models.rows import options_of, sizes_of, steps_of

Run = Callable[[Sequence[Any]], list[Any]]
_Sizes = tuple[int, ...]

# Most seconds that a row may take to be run in the event loop: waking a thread and returning from
# it would cost a good part of that, and such a pause delays no other request noticeably.
_QUICK_SECONDS = 0.01
# A batch that has run for these seconds, or is going to, lets others begin beside it: what is done
# earlier would lose more by sharing the processor than by waiting. One of less than this share of
# its steps begins at once. What takes longer is collected, as one large batch is faster than two,
# until it has waited for this share of the time that the batch has run, or has as many rows: then
# it catches up with it.
_LONG_SECONDS, _SHARE = 0.5, 0.5


@dataclasses.dataclass(eq=False, slots=True)
class Job:
    """One request's rows on their way through the batcher.

    Attributes:
        run: Turns rows into results.
        rows: The rows.
        done: Set when all rows have results.
        arrived: When the request arrived, by `time.perf_counter`.
        started: When its first rows were taken.
        taken: How many rows have been taken.
        results: The results so far, in the order of the rows.
        largest_batch: Rows of the largest batch that it was part of.
        is_alone: Whether its rows share no batch, as in a stream, which shows results as they come.
        kinds: The options of its rows.
        steps: About how many steps the longest of its rows takes; 0 if none is decoded.
    """

    run: Run
    rows: Sequence[Any]
    done: asyncio.Future[None]
    arrived: float
    started: float = 0.0
    taken: int = 0
    results: list[Any] = dataclasses.field(default_factory=list)
    largest_batch: int = 0
    is_alone: bool = False
    kinds: frozenset[Hashable] = dataclasses.field(init=False)
    steps: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        self.kinds = frozenset(map(options_of, self.rows))
        self.steps = max(map(steps_of, self.rows))

    def goes_with(self, other: "Job") -> bool:
        """Tells whether its rows are searched together with those of another one."""
        return self.run == other.run and self.kinds == other.kinds


@dataclasses.dataclass(frozen=True, slots=True)
class _Part:
    """Rows of one job within a batch."""

    job: Job
    rows: Sequence[Any]


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class _Batch:
    """A batch that runs.

    Attributes:
        parts: What it is made of.
        turn: Its turn among all that run.
        began: When it began, by `time.perf_counter`.
        step_seconds: What one of its steps is expected to take.
    """

    parts: Sequence[_Part]
    turn: Turn
    began: float
    step_seconds: float

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return sum(len(part.rows) for part in self.parts)

    @property
    def steps(self) -> int:
        """About how many steps its longest row takes."""
        return max(part.job.steps for part in self.parts)

    @property
    def is_long_at(self) -> float:
        """The time from which others may begin beside it."""
        is_long = self.step_seconds * self.steps > _LONG_SECONDS
        return self.began if is_long else self.began + _LONG_SECONDS

    def is_passed_by(self, job: Job) -> bool:
        """Tells whether a job may begin beside it as it is much shorter."""
        return job.steps < _SHARE * self.steps

    def is_joined_by(self, job: Job, rows: int, now: float) -> bool:
        """Tells whether a job of so many rows, with those that go with it, may catch up with it."""
        is_worth_it = rows >= self.rows or now - job.arrived >= _SHARE * (now - self.began)
        goes_with = job.goes_with(self.parts[0].job)
        return job.steps > 0 and (job.is_alone or (goes_with and is_worth_it))


class Batcher:
    """Hands rows to a thread, first come, first served.

    A batch begins with the oldest rows and adds the others that wait for the same function with the
    same options, in order. While it runs, the next one gathers, and begins when the running batches
    have ended or have taken long; batches that run side by side take turns. A single row needs no
    thread if the model is free and was quick with a row of at least its sizes (`at_once`).

    Args:
        max_batch: Most rows of a batch.
        max_wait: Seconds that a free model waits for a batch to fill.
        max_queue: Most rows that wait.
        observe: Called with the number of rows of every batch.
        max_running: Most batches that run side by side.
        joining: The most rows of a batch that catches up with a running one, or of that running
            one; 0 for none.
        turns: The turns of all batches, also of other models.
    """

    def __init__(
        self,
        *,
        max_batch: int,
        max_wait: float,
        max_queue: int,
        observe: Callable[[int], None],
        max_running: int = 1,
        joining: int = 0,
        turns: Turns | None = None,
    ) -> None:
        self._max_batch, self._max_wait, self._max_queue = max_batch, max_wait, max_queue
        self._observe = observe
        self._queue: list[Job] = []
        self._worker: asyncio.Task[None] | None = None
        self._filled = asyncio.Event()
        self._max_running, self._turns = max_running, turns or Turns()
        # Some places are left to what is shorter.
        self._joining, self._max_joined = joining, max_running // 2
        self._threads = ThreadPoolExecutor(max_running, thread_name_prefix="model")
        self._running: dict[_Batch, asyncio.Task[None]] = {}
        # Of each function that `at_once` was asked for, the sizes of a row that was quick; () if
        # none was.
        self._quick_sizes: dict[Run, _Sizes] = {}
        # What a step of the last batch took, by its estimate of steps.
        self._step_seconds = 0.0
        # Requests of this turn of the event loop.
        self._arriving = 0

    @property
    def waiting(self) -> int:
        """Rows that wait for the model."""
        return sum(len(job.rows) - job.taken for job in self._queue)

    @property
    def running(self) -> int:
        """Batches that run."""
        return len(self._running)

    async def at_once(self, run: Run, row: Sequence[Any], until: float) -> list[Any] | None:
        """Runs a row in the event loop if it is the only one and the model is free and quick.

        Args:
            run: Runs rows and returns their results; the event loop stands still until it ends.
            row: One row.
            until: The event loop's time from which it is not begun.

        Returns:
            The row's result; None if it has to be submitted.

        Raises:
            ServingError: The row cannot be translated.
            TimeoutError: The time is over.
        """
        sizes = sizes_of(row[0])
        if not self._is_quick(sizes, self._quick_sizes.setdefault(run, ())):
            return None
        self._arriving += 1
        # Requests that arrive at the same moment are known after this turn of the event loop.
        try:
            await asyncio.sleep(0)
            if self._arriving > 1 or not self._is_quick(sizes, self._quick_sizes[run]):
                return None
        finally:
            self._arriving -= 1
        if asyncio.get_running_loop().time() >= until:
            raise TimeoutError
        self._observe(1)
        began = time.perf_counter()
        try:
            results = run(row)
        except Exception as error:
            raise failure_of(error, "model") from error
        self._learn(run, sizes, time.perf_counter() - began)
        return results

    async def submit(self, run: Run, rows: Sequence[Any], is_alone: bool = False) -> Job:
        """Waits until all rows have results. If cancelled, it removes those that still wait and
        ends the batches in which nobody else has rows.

        Args:
            run: Turns rows into results, one for each; rows are batched with others that have an
                equal function.
            rows: At least one row.
            is_alone: Whether they share no batch, as in a stream, which shows results as they come.

        Raises:
            ServingError: The queue is full, or the rows cannot be translated.
        """
        waiting = self.waiting
        if waiting + len(rows) > self._max_queue:
            raise ServingError(
                Code.RESOURCE_EXHAUSTED,
                f"the server is busy: {waiting} sentences are waiting, and the limit is "
                f"{self._max_queue}; try again later.",
            )
        loop = asyncio.get_running_loop()
        job = Job(run, rows, loop.create_future(), time.perf_counter(), is_alone=is_alone)
        self._queue.append(job)
        self._filled.set()
        if self._worker is None:
            self._worker = loop.create_task(self._work())
        try:
            await job.done
        finally:
            if job in self._queue:
                self._queue.remove(job)
            for batch in self._running:
                if all(part.job.done.done() for part in batch.parts):
                    batch.turn.abandon()
        return job

    def close(self) -> None:
        """Ends the threads when they have finished their work."""
        self._threads.shutdown(wait=False)

    async def _work(self) -> None:
        try:
            while self._queue:
                await self._fill()
                if job := self._next():
                    parts, began = self._take(job), time.perf_counter()
                    batch = _Batch(parts, self._turns.new(), began, self._step_seconds)
                    self._running[batch] = asyncio.create_task(self._finish(batch))
                elif self._queue:
                    await self._wait()
        finally:
            self._worker = None

    def _next(self) -> Job | None:
        """Returns the oldest of those that may begin now."""
        now = time.perf_counter()
        # First, as it is asked with every request that comes.
        if self.running >= self._max_running or self._seconds_to_long(now) > 0:
            return None
        return next((job for job in self._queue if self._may_begin(job, now)), None)

    def _may_begin(self, job: Job, now: float) -> bool:
        may_join = self.running < self._max_joined

        def joins(batch: _Batch) -> bool:
            if not may_join or now < batch.is_long_at:
                return False
            rows = self._rows_with(job)
            fits = batch.rows + min(rows, self._max_batch) <= self._max_batch
            is_small = job.is_alone or (fits and min(rows, batch.rows) <= self._joining)
            return is_small and batch.is_joined_by(job, rows, now)

        return all(batch.is_passed_by(job) or joins(batch) for batch in self._running)

    def _seconds_to_long(self, now: float) -> float:
        """Returns for how long none may begin beside the batches that run."""
        return min((batch.is_long_at for batch in self._running), default=-math.inf) - now

    def _rows_with(self, job: Job) -> int:
        """Returns how many rows wait that go with a job, its own included."""
        return sum(len(one.rows) - one.taken for one in self._queue if one.goes_with(job))

    async def _wait(self) -> None:
        """Waits until a batch ends, others ask, or one may begin beside those that run."""
        left = self._seconds_to_long(time.perf_counter())
        if left > 0:
            await asyncio.wait(
                self._running.values(), timeout=left, return_when=asyncio.FIRST_COMPLETED
            )
            return
        self._filled.clear()
        changed = [*self._running.values(), asyncio.ensure_future(self._filled.wait())]
        most = _LONG_SECONDS if self.running < self._max_running else None
        await asyncio.wait(changed, timeout=most, return_when=asyncio.FIRST_COMPLETED)
        changed[-1].cancel()

    async def _finish(self, batch: _Batch) -> None:
        try:
            await self._translate(batch.parts, batch.turn)
            if batch.steps:
                self._step_seconds = (time.perf_counter() - batch.began) / batch.steps
        finally:
            del self._running[batch]

    async def _fill(self) -> None:
        """Waits for more rows while the batch has room and its oldest rows have not waited long."""
        while self._queue and self._max_wait:
            oldest = self._queue[0]
            left = oldest.arrived + self._max_wait - time.perf_counter()
            if left <= 0 or self._rows_with(oldest) >= self._max_batch:
                return
            self._filled.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._filled.wait(), left)

    def _take(self, first: Job) -> list[_Part]:
        """Takes the batch out of the queue that a job and those that go with it make."""
        room, parts, now = self._max_batch, [], time.perf_counter()
        for job in self._queue:
            if room and job.goes_with(first):
                rows = job.rows[job.taken : job.taken + room]
                parts.append(_Part(job, rows))
                job.started = job.started or now
                job.taken += len(rows)
                room -= len(rows)
        self._queue = [job for job in self._queue if job.taken < len(job.rows)]
        return parts

    async def _translate(self, parts: Sequence[_Part], turn: Turn) -> None:
        """Runs one batch; if it fails, runs each request's part on its own."""
        rows = [row for part in parts for row in part.rows]
        self._observe(len(rows))
        try:
            results = await self._run(parts[0].job.run, rows, turn)
        except Abandoned:
            return
        except Exception as error:
            if len(parts) > 1:
                for part in parts:
                    await self._translate([part], turn)
                return
            failure, [part] = failure_of(error, "model"), parts
            if not part.job.done.done():
                part.job.done.set_exception(failure)
            return
        left = iter(results)
        for part in parts:
            job = part.job
            job.results += itertools.islice(left, len(part.rows))
            job.largest_batch = max(job.largest_batch, len(rows))
            if len(job.results) == len(job.rows) and not job.done.done():
                job.done.set_result(None)

    async def _run(self, run: Run, rows: Sequence[Any], turn: Turn) -> list[Any]:
        """Runs a batch in a thread."""
        began = time.perf_counter()
        loop = asyncio.get_running_loop()
        results = await loop.run_in_executor(self._threads, turn.call, partial(run, rows))
        if len(rows) == 1 and run in self._quick_sizes:
            self._learn(run, sizes_of(rows[0]), time.perf_counter() - began)
        return results

    def _is_quick(self, sizes: _Sizes, known: _Sizes) -> bool:
        """Returns whether a row would neither have to wait nor make others wait."""
        is_free = self._worker is None and not self._running
        return is_free and not self._max_wait and _fits(sizes, known)

    def _learn(self, run: Run, sizes: _Sizes, seconds: float) -> None:
        """Keeps the sizes of the largest quick row, until a row within them is slow."""
        if not _fits(sizes, self._quick_sizes[run]):
            if seconds < _QUICK_SECONDS:
                self._quick_sizes[run] = sizes
        elif seconds >= _QUICK_SECONDS:
            self._quick_sizes[run] = ()


def _fits(sizes: _Sizes, known: _Sizes) -> bool:
    """Tells whether no size is above the known one; never if none is known."""
    return bool(known) and all(map(operator.le, sizes, known))
