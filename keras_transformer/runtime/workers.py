"""The division of an artefact's threads: all on one batch, sharing every product, or one thread for
each of several batches side by side.
"""

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import NamedTuple, TypeVar

from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.artefact.manifest import Manifest
from keras_transformer.runtime.onnx_graphs.graphs import Graphs
from keras_transformer.runtime.onnx_graphs.providers import Provider, check_providers
from keras_transformer.runtime.onnx_graphs.sessions import check_threads

# Bytes of weights that fit into the cores' caches, so that a thread never waits for them.
_CACHED_BYTES = 24 << 20
# More rows make better use of weights that were read; a small model gains nothing beyond this.
_SMALL_BATCH_TOKENS, _BATCH_TOKENS = 2560, 8192
# Numbers between the linear layers of a feed-forward sub-layer that a core's caches hold. Products
# in float32 take up to a quarter longer if an operator writes more than that for the next one to
# read; operators of quantised layers pass through a few rows at a time.
_CACHED_NUMBERS = 3 << 19
# With this many rows in a batch a thread computes for longer than it waits for weights; four times
# as many are needed if the weights come from memory in float32.
_LEAST_ROWS, _LEAST_FLOAT_ROWS = 4, 16

_Batch = TypeVar("_Batch")
_Result = TypeVar("_Result")


def check_sizes(**sizes: int | None) -> None:
    """Raises `ValueError` if a number is below 1; None is none."""
    for name, value in sizes.items():
        if value is not None and value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}.")


class Division(NamedTuple):
    """The division of a request's sentences among workers.

    Attributes:
        at_a_time: Batches that run side by side.
        least: A batch with fewer sentences is not worth dividing.
        graphs: The graphs that the batches run.
    """

    at_a_time: int
    least: int
    graphs: Graphs


class Workers:
    """The threads of an opened artefact and the graphs they run.

    Threads that share a batch wait for each other at every product; a batch for each thread is
    faster if each has enough rows. A large model then has its weights in memory twice, as a session
    keeps weights that it has prepared for itself; each kind of session is opened when first needed.

    Args:
        manifest: The artefact's contract.
        files: Its files.
        threads: Threads of the graphs; one for each core that the process may use if None.
        providers: onnxruntime's execution providers, best first: names, or tuples of a name and its
            options; the CPU if None.

    Attributes:
        graphs: The graphs for one batch at a time.
        batch_tokens: Most tokens that a batch should have; see `plan_batches`.
        read_tokens: The same of rows that are read once, not decoded.

    Raises:
        ValueError: `threads` is below 1, or a provider cannot run the artefact.
    """

    def __init__(
        self,
        manifest: Manifest,
        files: ArtefactFiles,
        threads: int | None,
        providers: Sequence[Provider] | None = None,
    ) -> None:
        check_providers(providers, manifest)
        self._threads = check_threads(threads)
        self._is_small = len(files.weights(manifest.weights)) <= _CACHED_BYTES
        self.batch_tokens = _SMALL_BATCH_TOKENS if self._is_small else _BATCH_TOKENS
        self.read_tokens = self.batch_tokens
        if manifest.precision == "float32":
            cached = _CACHED_NUMBERS // manifest.config["feed_forward_dim"]
            self.read_tokens = max(1, min(self.batch_tokens, cached))
        waits_little = self._is_small or manifest.precision.startswith("int")
        self._least_rows = _LEAST_ROWS if waits_little else _LEAST_FLOAT_ROWS
        self.graphs = Graphs(manifest, files, 1 if self._is_small else self._threads, providers)
        shared = self._is_small or self._threads == 1
        self._side_by_side = self.graphs if shared else Graphs(manifest, files, 1, providers)
        self._pool: ThreadPoolExecutor | None = None
        self._pool_process = os.getpid()
        self._lock = threading.Lock()

    def divide(self, sentences: int, rows_per_sentence: int) -> Division:
        """Returns how to run `sentences` sentences with `rows_per_sentence` rows each."""
        least = max(1, self._least_rows // rows_per_sentence)
        if self._is_small or sentences >= self._threads * least:
            return Division(self._threads, least, self._side_by_side)
        return Division(1, least, self.graphs)

    @property
    def undivided(self) -> int:
        """The most sentences of one row each that `divide` leaves together."""
        return 1 if self._is_small else max(1, self._threads * self._least_rows - 1)

    def map(
        self, run: Callable[[_Batch], _Result], batches: Sequence[_Batch], at_a_time: int
    ) -> Iterable[_Result]:
        """Runs batches and returns their results in order.

        After an error or an interrupt no other batch is begun.

        Raises:
            RuntimeError: The workers are closed.
        """
        if at_a_time == 1 or len(batches) < 2:
            return map(run, batches)
        tasks: list[Future[_Result]] = []
        try:
            with self._lock:
                # Checked again under the lock: a pool that is shut down takes no more work.
                self.graphs.open()
                pool = self._own_pool()
                for batch in batches:
                    # A context can be entered by one thread at a time.
                    tasks.append(pool.submit(copy_context().run, run, batch))
            return [task.result() for task in tasks]
        except BaseException:
            # The interpreter ends only when the pool has done all that waits there.
            for task in tasks:
                task.cancel()
            raise

    def by_place(
        self,
        run: Callable[[list[int]], Iterable[_Result]],
        batches: Sequence[list[int]],
        at_a_time: int,
    ) -> dict[int, _Result]:
        """Runs batches of places as `map` does; returns what `run` gives for each by its place."""
        results = self.map(run, batches, at_a_time)
        return {
            place: one
            for places, found in zip(batches, results, strict=True)
            for place, one in zip(places, found, strict=True)
        }

    def close(self) -> None:
        """Releases the graphs; batches that are running or waiting to run are finished."""
        self.graphs.close()
        self._side_by_side.close()
        with self._lock:
            if self._pool is not None:
                self._pool.shutdown(wait=False)

    def _own_pool(self) -> ThreadPoolExecutor:
        """Returns this process's pool: one that a forked child inherits has no threads there."""
        if self._pool is None or self._pool_process != os.getpid():
            self._pool, self._pool_process = ThreadPoolExecutor(self._threads), os.getpid()
        return self._pool
