"""Prometheus metrics and the log of requests: a line of JSON for each, with users' texts only if
`log_text` is set.
"""

import asyncio
import dataclasses
import itertools
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import IO

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from keras_transformer.serving.errors import Code, ServingError, encodable, failure_of

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_MODEL_COUNTS = {
    "reused_prefix_tokens": "Tokens of prompts that earlier ones had read.",
    "joined_searches": "Searches that went on together with a running one.",
    "left_searches": "Requests that were done while a search that they shared went on.",
}
# In place of what a request asks for and nobody knows.
UNKNOWN = "unknown"


@dataclasses.dataclass(slots=True)
class JournalEntry:
    """One request, filled in while it is served.

    Attributes:
        number: Counts the server's requests.
        protocol: "rest" or "grpc".
        model: The model's name.
        began: When it arrived, by `time.perf_counter`.
        signature: What is called; "unknown" until it is known to exist.
        sentences: Rows of the request.
        batch: Rows of the largest batch that it was part of.
        queue_seconds: Seconds before the model took its first row.
        texts: Its texts, for the log if it is to have them.
        cuts: Messages about texts that were cut, with how much of each is read.
        is_structured: Whether its texts have to follow a grammar.
    """

    number: int
    protocol: str
    model: str
    began: float
    signature: str = UNKNOWN
    sentences: int = 0
    batch: int = 0
    queue_seconds: float = 0.0
    texts: Sequence[str] = ()
    cuts: Sequence[str] = ()
    is_structured: bool = False


class _ModelCounts(Collector):
    """Counters that loaded models keep themselves, read whenever metrics are.

    Attributes:
        models: What each model has counted, by the counters' names.
    """

    def __init__(self) -> None:
        self.models: dict[str, Callable[[], Mapping[str, int]]] = {}

    def collect(self) -> Iterator[Metric]:
        """Yields the counters."""
        found = {model: counts() for model, counts in self.models.items()}
        for name, description in _MODEL_COUNTS.items():
            family = CounterMetricFamily(
                f"keras_transformer_{name}", description, labels=("model",)
            )
            for model, counts in found.items():
                family.add_metric([model], counts.get(name, 0))
            yield family


class Journal:
    """Counts requests and writes them down.

    Args:
        log_requests: Whether each request gets a line.
        log_text: Whether the line holds its texts.
        stream: Where lines are written; standard error if None. A line that cannot be written is
            counted and dropped: the log's reader may be gone, or its disk full.
    """

    def __init__(
        self, *, log_requests: bool = True, log_text: bool = False, stream: IO[str] | None = None
    ) -> None:
        self._log_requests = log_requests
        # A process that was started without standard error has none.
        self._stream: IO[str] | None = stream or sys.stderr
        self.log_text = log_text
        self._numbers = itertools.count(1)
        self._registry = registry = CollectorRegistry()
        self._requests = Counter(
            "keras_transformer_requests",
            "Requests answered.",
            ("model", "signature", "code", "protocol"),
            registry=registry,
        )
        self._seconds = Histogram(
            "keras_transformer_request_seconds",
            "Seconds from a request's arrival to its answer.",
            ("model", "signature", "protocol"),
            buckets=_SECONDS,
            registry=registry,
        )
        self._batch_sizes = Histogram(
            "keras_transformer_batch_size",
            "Sentences translated together.",
            ("model",),
            buckets=_BATCH_SIZES,
            registry=registry,
        )
        self._sentences = Counter(
            "keras_transformer_sentences",
            "Sentences answered.",
            ("model", "signature"),
            registry=registry,
        )
        self._structured = Counter(
            "keras_transformer_structured_requests",
            "Requests whose texts had to follow a schema, an expression or choices.",
            ("model",),
            registry=registry,
        )
        self._counts = _ModelCounts()
        registry.register(self._counts)
        self._version = Gauge(
            "keras_transformer_model_version",
            "The version that is served by default; 0 if none is.",
            ("model",),
            registry=registry,
        )
        self._queue = Gauge(
            "keras_transformer_queue_length",
            "Sentences that wait for the model.",
            ("model",),
            registry=registry,
        )
        self._lost_lines = Counter(
            "keras_transformer_log_lines_lost",
            "Lines of the log that could not be written.",
            registry=registry,
        )

    def follow(
        self,
        model: str,
        queue_length: Callable[[], int],
        version: Callable[[], int],
        counts: Callable[[], Mapping[str, int]],
    ) -> None:
        """Makes a model's metrics read their values from these functions."""
        self._counts.models[model] = counts
        self._queue.labels(model).set_function(queue_length)
        self._version.labels(model).set_function(version)

    def begin(self, protocol: str, model: str, began: float | None = None) -> JournalEntry:
        """Returns the entry of a request for a model that arrived at `began`, or now."""
        return JournalEntry(next(self._numbers), protocol, model, began or time.perf_counter())

    def end(self, entry: JournalEntry, code: str) -> None:
        """Counts a request and writes its line, once its answer has been sent.

        Args:
            entry: The request.
            code: "OK" or the name of what went wrong.
        """
        seconds = time.perf_counter() - entry.began
        asyncio.get_running_loop().call_soon(self._tell, entry, code, seconds)

    def _tell(self, entry: JournalEntry, code: str, seconds: float) -> None:
        model, signature = entry.model, entry.signature
        self._requests.labels(model, signature, code, entry.protocol).inc()
        self._seconds.labels(model, signature, entry.protocol).observe(seconds)
        if code == "OK":
            self._sentences.labels(model, signature).inc(entry.sentences)
            if entry.is_structured:
                self._structured.labels(model).inc()
        if self._log_requests:
            self._write(entry, code, seconds)

    @contextmanager
    def recorded(self, protocol: str, model: str) -> Iterator[JournalEntry]:
        """Records a request, and turns any error within into a `ServingError`."""
        entry, code = self.begin(protocol, model), "OK"
        try:
            yield entry
        except (asyncio.CancelledError, GeneratorExit):
            code = Code.CANCELLED.name
            raise
        except Exception as error:
            failure = _failure_of(error)
            code = failure.code.name
            if failure is error:
                raise
            raise failure from error
        finally:
            self.end(entry, code)

    @contextmanager
    def refusals(self, protocol: str, model: str) -> Iterator[None]:
        """Records a request like `recorded`, but only if it fails."""
        began = time.perf_counter()
        try:
            yield
        except Exception as error:
            failure = _failure_of(error)
            self.end(self.begin(protocol, model, began), failure.code.name)
            if failure is error:
                raise
            raise failure from error

    def batch(self, model: str, size: int) -> None:
        """Counts a batch of a model."""
        self._batch_sizes.labels(model).observe(size)

    def event(self, event: str, **fields: object) -> None:
        """Writes a line about the server itself, such as a version that was loaded."""
        self._line({"event": event, **fields})

    def metrics(self) -> bytes:
        """Returns all metrics in Prometheus's text format."""
        return generate_latest(self._registry)

    def _write(self, entry: JournalEntry, code: str, seconds: float) -> None:
        fields: dict[str, object] = {
            "request": entry.number,
            "protocol": entry.protocol,
            "model": entry.model,
            "signature": entry.signature,
            "sentences": entry.sentences,
            "batch": entry.batch,
            "queue_ms": round(entry.queue_seconds * 1e3, 3),
            "total_ms": round(seconds * 1e3, 3),
            "code": code,
        }
        if entry.cuts:
            fields["cuts"] = list(entry.cuts)
        if self.log_text:
            fields["texts"] = list(entry.texts)
        self._line(fields)

    def _line(self, fields: dict[str, object]) -> None:
        if self._stream is None:
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        try:
            line = json.dumps({"time": now, **fields}, ensure_ascii=False)
            self._stream.write(encodable(line) + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            self._lost_lines.inc()


def _failure_of(error: Exception) -> ServingError:
    """As `failure_of`, but a request whose time was over is told so."""
    if isinstance(error, TimeoutError):
        message = "the request's time was over before it had a result."
        return ServingError(Code.DEADLINE_EXCEEDED, message)
    return failure_of(error, "server")
