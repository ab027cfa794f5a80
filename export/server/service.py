"""The server without a protocol: arrays come in, arrays leave; REST and gRPC are built upon it."""

import asyncio
import dataclasses
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, aclosing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy.typing as npt

from keras_transformer.decoding.options import SearchOptions

from ..runtime.providers import parse_providers
from .batching import Batcher
from .bodies import BodyReader
from .errors import Code, ServingError
from .inputs import Arrays, Request, TranslationRow, check_inputs
from .journal import Entry, Journal
from .model import Run, ServedModel
from .settings import ServeOptions
from .signatures import Signature, signature_of
from .text_stream import stream_passage
from .versions import LoadedVersion, Versions, VersionStatus

__all__ = ["Prediction", "Service", "VersionStatus"]

# Texts of more bytes are tokenized beside the event loop: they would hold up everyone else.
_LONG_BYTES = 1 << 15


@dataclasses.dataclass(frozen=True)
class Prediction:
    """A request's result.

    Attributes:
        version: Version of the model that gave it.
        outputs: Arrays by the names of the signature's outputs; strings as objects of bytes.
    """

    version: int
    outputs: dict[str, npt.NDArray[Any]]


class Service:
    """One model in its versions, for any number of requests at once, within one event loop.

    Every method that serves a request raises ServingError and nothing else.

    Args:
        options: Where the model is, and the limits.
        search: The search of every translation.
        journal: Where requests are counted.

    Attributes:
        options: As given.
        search: As given.
        model_name: What requests call the model.
        is_beam_search: Whether the search keeps several hypotheses.
        journal: As given.
        bodies: What reads the bodies of REST requests.
        draining: Set when the server is to stop: it is not ready any more, but still answers.

    Raises:
        FileNotFoundError: There is neither an artefact nor a version directory.
        ValueError: The search draws samples.
    """

    def __init__(self, options: ServeOptions, search: SearchOptions, journal: Journal) -> None:
        if search.sample:
            raise ValueError("sample=True is not served: an answer is the same every time.")
        self.options, self.journal = options, journal
        self.model_name = options.model_name or options.artefact.resolve().name
        self.draining = False
        self.bodies = BodyReader(options.max_body_bytes, options.request_timeout)
        self.is_beam_search = search.beam_size > 1
        self.search = search
        self._versions = Versions(options.artefact, self._load, self._make_batcher, journal)
        journal.follow(
            lambda: sum(version.batcher.waiting for version in self._versions.loaded),
            lambda: self._versions.newest.number if self._versions.newest else 0,
        )

    @property
    def is_ready(self) -> bool:
        """Whether a version is loaded and the server is not about to stop."""
        return self._versions.newest is not None and not self.draining

    @property
    def version(self) -> int | None:
        """The version that is served by default; None where none is loaded."""
        return self._versions.newest.number if self._versions.newest else None

    def check_loaded(self) -> None:
        """Checks that a look has found a version; see `Versions.check_loaded`."""
        self._versions.check_loaded()

    async def look(self) -> None:
        """Looks for new versions once; see `Versions.look`."""
        await self._versions.look()

    async def watch(self) -> None:
        """Looks for new versions until it is cancelled."""
        await self._versions.watch(self.options.poll_seconds)

    async def close(self) -> None:
        """Lets go of the models when their requests are done."""
        await self._versions.close()

    async def predict(
        self,
        model: str,
        signature_name: str,
        inputs: Arrays,
        *,
        version: int | None = None,
        timeout: float | None = None,
        protocol: str = "rest",
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> Prediction:
        """Runs a signature. Cancelled, it takes its rows out of the queue.

        Args:
            model: The model's name.
            signature_name: The signature; "" for `serving_default`.
            inputs: Arrays by name: int32, float32, bool, or objects of bytes.
            version: The model's version, the newest where None.
            timeout: Seconds after which it gives up, at most the server's own.
            protocol: "rest" or "grpc", for metrics and log.
            waiting: Makes what is entered where the request has to wait for its turn.

        Raises:
            ServingError: There is no result.
        """
        with self.journal.recorded(protocol) as entry:
            until = asyncio.get_running_loop().time() + self._limit(timeout)
            loaded = self._find(model, version)
            with loaded.use():
                signature = signature_of(loaded.model.signatures, signature_name)
                entry.signature = signature.name
                request = await self._read(loaded.model, signature, inputs, entry, until)
                rows = request.rows
                run = loaded.model.run(signature)
                results = await loaded.batcher.at_once(run, rows) if len(rows) == 1 else None
                if results is None:
                    with waiting():
                        results = await _before(until, self._run(loaded, run, rows, entry))
                else:
                    entry.batch = 1
                outputs = loaded.model.write(signature, request, results)
                return Prediction(loaded.number, outputs)

    def signatures(
        self, model: str, version: int | None = None
    ) -> tuple[int, dict[str, Signature]]:
        """Returns the version and its signatures by name."""
        loaded = self._find(model, version)
        return loaded.number, loaded.model.signatures

    def status(self, model: str, version: int | None = None) -> list[VersionStatus]:
        """Returns the state of one version, or of all."""
        if model == self.model_name:
            found = self._versions.status()
            if version is None:
                return found
            found = [status for status in found if status.version == version]
            if found:
                return found
        asked = "" if version is None else f" (version {version})"
        message = f"Could not find any versions of model {model}{asked}"
        raise ServingError(Code.NOT_FOUND, message)

    async def stream(
        self, model: str, text: str, target_prefix: str = "", timeout: float | None = None
    ) -> AsyncIterator[str]:
        """Yields a greedy translation piece by piece, as it comes, sentence after sentence.

        Args:
            model: The model's name.
            text: The source text.
            target_prefix: What the translation begins with; its pieces are yielded too.
            timeout: As for `predict`.
        """
        with self.journal.recorded("rest") as entry:
            until = asyncio.get_running_loop().time() + self._limit(timeout)
            loaded = self._find(model, None)
            entry.signature = "stream"
            with loaded.use():
                request = await self._read_text(loaded.model, text, target_prefix, entry)
                parts = (self._stream_row(loaded, row, entry, until) for row in request.rows)
                async with aclosing(stream_passage(request.passages[0], parts)) as pieces:
                    async for piece in pieces:
                        yield piece

    async def explain(self, model: str, text: str, timeout: float | None = None) -> dict[str, Any]:
        """Returns the best translations of a text with their attention to it.

        Args:
            model: The model's name.
            text: The source text.
            timeout: As for `predict`.

        Returns:
            As `ServedModel.describe`; each of the `hypotheses`, best first, has `translation`,
            `score`, `log_probability`, `low_confidence`, `target_pieces` (eos included) and
            `attention`, a row for each target piece and a column for each source piece.
        """
        with self.journal.recorded("rest") as entry:
            async with asyncio.timeout(self._limit(timeout)):
                loaded = self._find(model, None)
                entry.signature = "explain"
                with loaded.use():
                    request = await self._read_text(loaded.model, text, "", entry)
                    found = await self._run(loaded, loaded.model.explain, request.rows, entry)
                    return loaded.model.describe(request.passages[0], found)

    @contextmanager
    def refusals(self, protocol: str) -> Iterator[None]:
        """Writes a request down that ends with a ServingError before it could be served."""
        began = time.perf_counter()
        try:
            yield
        except ServingError as error:
            self.journal.end(self.journal.begin(protocol, began), error.code.name)
            raise

    def _load(self, directory: Path) -> ServedModel:
        options = self.options
        model = ServedModel(
            directory,
            self.search,
            max_source_length=options.max_source_length,
            long_texts=options.long_texts,
            language=options.language,
            threads=options.threads,
            providers=parse_providers(options.provider),
        )
        model.warm_up()
        return model

    def _make_batcher(self) -> Batcher:
        options = self.options
        return Batcher(
            max_batch=options.max_batch,
            max_wait=options.max_wait_ms / 1e3,
            max_queue=options.max_queue,
            observe=self.journal.batch,
        )

    def _find(self, model: str, version: int | None) -> LoadedVersion:
        if model != self.model_name:
            asked = f"Latest({model})" if version is None else f"Specific({model}, {version})"
            raise ServingError(Code.NOT_FOUND, f"Servable not found for request: {asked}")
        return self._versions.get(version, model)

    def _limit(self, timeout: float | None) -> float:
        longest = self.options.request_timeout
        return longest if timeout is None else min(timeout, longest)

    async def _read(
        self,
        model: ServedModel,
        signature: Signature,
        inputs: Arrays,
        entry: Entry,
        until: float,
    ) -> Request:
        self._count(entry, check_inputs(signature, inputs))
        texts = [
            text
            for spec in signature.inputs
            if spec.dtype == "string"
            for text in inputs[spec.name].tolist()
        ]
        if self.journal.log_text:
            entry.texts = [text.decode(errors="replace") for text in texts]
        if sum(map(len, texts)) > _LONG_BYTES:
            request = await _before(until, asyncio.to_thread(model.read, signature, inputs))
        else:
            request = model.read(signature, inputs)
        self._count(entry, len(request.rows))
        return request

    async def _read_text(
        self, model: ServedModel, text: str, target_prefix: str, entry: Entry
    ) -> Request:
        if self.journal.log_text:
            entry.texts = [text, target_prefix] if target_prefix else [text]
        if len(text) + len(target_prefix) > _LONG_BYTES:
            request = await asyncio.to_thread(model.read_text, text, target_prefix)
        else:
            request = model.read_text(text, target_prefix)
        self._count(entry, len(request.rows))
        return request

    def _count(self, entry: Entry, sentences: int) -> None:
        """Notes how many sentences a request has; refuses too many."""
        entry.sentences = sentences
        if sentences > self.options.max_sentences:
            raise ServingError(
                Code.INVALID_ARGUMENT,
                f"a request may have {self.options.max_sentences} sentences, got {sentences}: send "
                "several requests.",
            )

    async def _stream_row(
        self, loaded: LoadedVersion, row: TranslationRow, entry: Entry, until: float
    ) -> AsyncGenerator[str, None]:
        """Yields a row's greedy translation piece by piece."""
        pieces: asyncio.Queue[str | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        is_wanted = True

        def emit(piece: str) -> bool:
            loop.call_soon_threadsafe(pieces.put_nowait, piece)
            return is_wanted

        run = partial(_stream_all, loaded.model, emit)
        task = loop.create_task(self._run(loaded, run, [row], entry))
        task.add_done_callback(lambda _: pieces.put_nowait(None))
        try:
            while (piece := await _before(until, pieces.get())) is not None:
                yield piece
            await task
        finally:
            is_wanted = False
            task.cancel()

    async def _run(
        self, loaded: LoadedVersion, run: Run, rows: Sequence[Any], entry: Entry
    ) -> list[Any]:
        if not rows:
            return []
        job = await loaded.batcher.submit(run, rows)
        entry.batch, entry.queue_seconds = job.largest_batch, job.started - job.arrived
        return job.results


def _stream_all(
    model: ServedModel, emit: Callable[[str], bool], rows: Sequence[TranslationRow]
) -> list[None]:
    for row in rows:
        model.stream(row, emit)
    return [None] * len(rows)


async def _before(until: float, awaited: Awaitable[Any]) -> Any:
    async with asyncio.timeout_at(until):
        return await awaited
