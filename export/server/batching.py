"""Dynamic batching: rows of many requests come in, the model works through them in batches of what
waited meanwhile, and each request gets the results of its own rows.
"""

import asyncio
import dataclasses
import logging
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .errors import Code, ServingError

Run = Callable[[Sequence[Any]], list[Any]]

_log = logging.getLogger(__name__)
# What a row takes at most to be worked on in the event loop: a thread's waking up, there and back,
# would take a good part of that, and nobody minds such a pause.
_QUICK_SECONDS = 0.01


@dataclasses.dataclass(eq=False, slots=True)
class Job:
    """One request's rows on their way through the batcher.

    Attributes:
        run: What turns rows into results.
        rows: The rows.
        may_pause: Whether it may hold up the event loop for a moment.
        done: Set when all rows have results.
        arrived: When the request came, by `time.perf_counter`.
        started: When its first rows were taken.
        taken: How many rows have been taken.
        results: What came out so far, in the order of the rows.
        largest_batch: Rows of the largest batch that it was part of.
    """

    run: Run
    rows: Sequence[Any]
    may_pause: bool
    done: asyncio.Future[None]
    arrived: float
    started: float = 0.0
    taken: int = 0
    results: list[Any] = dataclasses.field(default_factory=list)
    largest_batch: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class _Part:
    """Rows of one job within a batch."""

    job: Job
    rows: Sequence[Any]


class Batcher:
    """Hands rows to a thread, first come, first served.

    A batch begins with the oldest rows and takes in whatever else waits for the same function, in
    order. While the model works, the next batch gathers; there is one batch at a time. A row that
    comes alone, to a model that was quick with the last such row, needs no thread.

    Args:
        max_batch: Most rows of a batch.
        max_wait: Seconds that a free model waits for a batch to fill.
        max_queue: Most rows that wait.
        observe: Told the number of rows of every batch.
    """

    def __init__(
        self, *, max_batch: int, max_wait: float, max_queue: int, observe: Callable[[int], None]
    ) -> None:
        self._max_batch, self._max_wait, self._max_queue = max_batch, max_wait, max_queue
        self._observe = observe
        self._queue: list[Job] = []
        self._worker: asyncio.Task[None] | None = None
        self._filled = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="model")
        # What the last batch of one row took.
        self._seconds_alone = math.inf

    @property
    def waiting(self) -> int:
        """Rows that wait for the model."""
        return sum(len(job.rows) - job.taken for job in self._queue)

    async def submit(self, run: Run, rows: Sequence[Any], *, may_pause: bool = False) -> Job:
        """Waits until all rows have results; cancelled, it takes those that wait out again.

        Args:
            run: What turns rows into results, one for each; rows are batched with others that have
                an equal function.
            rows: At least one row.
            may_pause: Whether quick work may be done in the event loop; for functions that nobody
                hears of before their end.

        Raises:
            ServingError: The queue is full, or the rows cannot be translated.
        """
        waiting = self.waiting
        if waiting + len(rows) > self._max_queue:
            raise ServingError(
                Code.RESOURCE_EXHAUSTED,
                f"the server is busy: {waiting} sentences wait and at most {self._max_queue} may; "
                "try again later.",
            )
        loop = asyncio.get_running_loop()
        job = Job(run, rows, may_pause, loop.create_future(), time.perf_counter())
        self._queue.append(job)
        self._filled.set()
        if self._worker is None:
            self._worker = loop.create_task(self._work())
        try:
            await job.done
        finally:
            if job in self._queue:
                self._queue.remove(job)
        return job

    def close(self) -> None:
        """Ends the thread when it has done what it was given."""
        self._thread.shutdown(wait=False)

    async def _work(self) -> None:
        try:
            while self._queue:
                await self._fill()
                if self._queue:
                    await self._translate(self._take())
        finally:
            self._worker = None

    async def _fill(self) -> None:
        """Waits for more rows while the batch has room and the oldest ones have time."""
        while self._queue and self._max_wait:
            oldest = self._queue[0]
            left = oldest.arrived + self._max_wait - time.perf_counter()
            rows = sum(len(job.rows) - job.taken for job in self._queue if job.run == oldest.run)
            if left <= 0 or rows >= self._max_batch:
                return
            self._filled.clear()
            try:
                async with asyncio.timeout(left):
                    await self._filled.wait()
            except TimeoutError:
                return

    def _take(self) -> list[_Part]:
        """Takes the next batch out of the queue."""
        run, room = self._queue[0].run, self._max_batch
        parts, left = [], []
        now = time.perf_counter()
        for job in self._queue:
            if room and job.run == run:
                rows = job.rows[job.taken : job.taken + room]
                parts.append(_Part(job, rows))
                job.started = job.started or now
                job.taken += len(rows)
                room -= len(rows)
            if job.taken < len(job.rows):
                left.append(job)
        self._queue = left
        return parts

    async def _translate(self, parts: list[_Part]) -> None:
        """Runs one batch; where it fails, each request's part on its own."""
        rows = [row for part in parts for row in part.rows]
        self._observe(len(rows))
        try:
            results = await self._run(parts[0].job, rows)
        except Exception as error:
            if len(parts) == 1:
                _fail(parts[0].job, error)
                return
            for part in parts:
                await self._translate([part])
            return
        start = 0
        for part in parts:
            job, end = part.job, start + len(part.rows)
            job.results += results[start:end]
            job.largest_batch = max(job.largest_batch, len(rows))
            if len(job.results) == len(job.rows) and not job.done.done():
                job.done.set_result(None)
            start = end

    async def _run(self, job: Job, rows: Sequence[Any]) -> list[Any]:
        """Runs a batch, whose first request it is told."""
        began, is_alone = time.perf_counter(), job.may_pause and len(rows) == 1
        if is_alone and not self._queue and self._seconds_alone < _QUICK_SECONDS:
            results = job.run(rows)
        else:
            loop = asyncio.get_running_loop()
            results = await loop.run_in_executor(self._thread, job.run, rows)
        if is_alone:
            self._seconds_alone = time.perf_counter() - began
        return results


def _fail(job: Job, error: Exception) -> None:
    _log.error("a request could not be translated", exc_info=error)
    if not job.done.done():
        message = f"the model failed ({type(error).__name__}); the server's log says more."
        job.done.set_exception(ServingError(Code.INTERNAL, message))
