"""Worker processes for work in many parts, of which only as many are held as needed. No process
outlives its parent.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

Call = tuple[Callable[..., Any], tuple[Any, ...]]


@contextmanager
def worker_processes(count: int) -> Iterator[ProcessPoolExecutor]:
    """Opens a pool of processes; an error, or Ctrl-C, drops the tasks that have not started.

    Args:
        count: Number of processes, at least 1.
    """
    if count < 1:
        raise ValueError(f"workers must be at least 1, got {count}")
    # Not forked: a copy of a process with TensorFlow's threads may hang.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_live_with_parent)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def run_tasks(pool: ProcessPoolExecutor, count: int, tasks: Iterable[Call]) -> Iterator[Any]:
    """Yields results in order of completion; draws only as many tasks as the processes can use.

    Args:
        pool: Runs the tasks.
        count: Number of its processes.
        tasks: Module-level functions and their arguments.
    """
    running: set[Future[Any]] = set()
    for function, arguments in tasks:
        running.add(pool.submit(function, *arguments))
        if len(running) > count:
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in finished)
    while running:
        finished, running = wait(running, return_when=FIRST_COMPLETED)
        yield from (future.result() for future in finished)


def _live_with_parent() -> None:
    """Ends this process if its parent is killed, which cannot notify its children."""
    # Ctrl-C reaches every process of a terminal; only the parent handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
