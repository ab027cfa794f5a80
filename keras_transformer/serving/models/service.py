"""The service behind REST and gRPC, independent of protocols: from arrays to arrays."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import (
    AbstractContextManager,
    aclosing,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from functools import partial
from types import MappingProxyType
from typing import Any

from keras_transformer.artefact.signatures import Signature
from keras_transformer.runtime.turns import Turns
from keras_transformer.search.grammars import GRAMMARS
from keras_transformer.serving.errors import Code, ServingError
from keras_transformer.serving.families.opening import load_version
from keras_transformer.serving.journal import UNKNOWN, Journal, JournalEntry
from keras_transformer.serving.models.batching import Batcher
from keras_transformer.serving.models.model_options import ModelOptions
from keras_transformer.serving.models.outputs import Outputs
from keras_transformer.serving.models.rows import Arrays, Request, placed
from keras_transformer.serving.models.running import (
    RequestReader,
    Steps,
    Stream,
    before,
    own_options,
    run_now_or_batched,
    run_rows,
    stream_passage,
    stream_row,
    with_attributes,
)
from keras_transformer.serving.models.served import Run, Served, Streaming, explaining, streaming
from keras_transformer.serving.models.versioning.versions import (
    Asked,
    LoadedVersion,
    Versions,
    VersionStatus,
    not_found,
)
from keras_transformer.serving.settings import ServeOptions

# Batches of a model side by side: each holds its caches.
_MAX_RUNNING = 8


class Service:
    """Serves models and their versions to any number of requests at once, within one event loop.

    Every method that serves a request raises ServingError and nothing else.

    Args:
        models: The models; their names differ.
        options: The server's limits.
        search: Fields of `SearchOptions` for every model; others are a model's own or defaults.
        journal: Counts and logs requests.

    Attributes:
        models: The models; their names differ.
        options: The server's limits.
        search: Fields of `SearchOptions` for every model; others are a model's own or defaults.
        journal: Counts and logs requests.
        bodies: Reads the bodies of REST requests.
        draining: Set when the server is shutting down: it is no longer ready, but still answers.

    Raises:
        FileNotFoundError: A model has neither an artefact nor a version directory.
        ValueError: The search draws samples.
    """

    def __init__(
        self,
        models: Sequence[ModelOptions],
        options: ServeOptions,
        search: Mapping[str, Any],
        journal: Journal,
    ) -> None:
        if search.get("sample"):
            raise ValueError(
                "sample=True cannot be set for a server: let requests ask for samples instead."
            )
        self.models, self.options, self.journal = models, options, journal
        self._adapters = frozenset(options.adapters)
        self.draining = False
        self.search = search
        self._turns = Turns(options.max_batch)
        self._reader = RequestReader(journal, options.max_sentences)
        self._versions = {model.name: self._follow(model) for model in models}

    @property
    def is_ready(self) -> bool:
        """Whether every model is loaded and the server is not about to stop."""
        return all(each.is_ready for each in self._versions.values()) and not self.draining

    def describe(self) -> str:
        """Returns the models with the versions that are served."""
        return "; ".join(f"{name} {each.describe()}" for name, each in self._versions.items())

    def check_loaded(self) -> None:
        """Checks that every version to be served was found; see `Versions.check_loaded`."""
        for versions in self._versions.values():
            versions.check_loaded()

    async def look(self) -> None:
        """Looks for new versions once; see `Versions.look`."""
        for versions in self._versions.values():
            await versions.look()

    async def watch(self) -> None:
        """Looks for new versions until it is cancelled."""
        seconds = self.options.poll_seconds
        await asyncio.gather(*(each.watch(seconds) for each in self._versions.values()))

    async def close(self) -> None:
        """Releases the models when their requests are done."""
        await asyncio.gather(*(each.close() for each in self._versions.values()))

    def find(self, model: str, asked: Asked = None) -> LoadedVersion:
        """Returns the version that answers a request, to be kept until the answer is complete.

        Args:
            model: The model's name, or that of an adapter for the model with it.
            asked: The version's number or its label; the newest version if None.

        Raises:
            ServingError: There is no such model, version or label.
        """
        versions = self._of(model)
        if versions is None:
            raise not_found(model, asked)
        found = versions.get(asked)
        return found.adapted(model) if model in self._adapters else found

    def _of(self, name: str) -> Versions | None:
        """Returns the versions of a model, or of the only one by the name of an adapter."""
        if name in self._adapters:
            [name] = self._versions
        return self._versions.get(name)

    async def predict(
        self,
        loaded: LoadedVersion,
        signature: Signature,
        inputs: Arrays,
        *,
        timeout: float | None = None,
        protocol: str = "rest",
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> Outputs:
        """Runs a signature. If cancelled, it takes its rows out of the queue.

        Args:
            loaded: The version that `find` returned.
            signature: One of the version's.
            inputs: Arrays by name: int32, float32, bool, or objects of bytes.
            timeout: Seconds after which it gives up, at most the server's own limit.
            protocol: "rest" or "grpc", for metrics and log.
            waiting: Makes a context manager that is entered if the request has to wait.

        Returns:
            Arrays by the names of the signature's outputs; strings as objects of bytes.

        Raises:
            ServingError: There is no result.
        """
        with self._request(loaded, signature.name, timeout, protocol) as (entry, until):
            request = await self._reader.arrays(loaded.model, signature, inputs, entry, until)
            run = loaded.model.run(signature)
            rows = request.rows
            results = await run_now_or_batched(loaded, run, rows, entry, until, waiting)
            return loaded.model.write(signature, request, results)

    async def run(
        self,
        loaded: LoadedVersion,
        name: str,
        read: Callable[[], Request],
        run: Run,
        *,
        sentences: int,
        texts: Sequence[str] = (),
        is_quick: bool = True,
        timeout: float | None = None,
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> tuple[Request, list[Any]]:
        """Runs rows that no signature describes; returns them and their results.

        Args:
            loaded: The version that `find` returned.
            name: What the request is called in metrics and log.
            read: Returns the rows.
            run: Returns a result for each row; rows are batched with others of an equal function.
            sentences: How many rows it has at least: too many are refused before they are read.
            texts: The request's texts, which may go into the log.
            is_quick: Whether reading takes no longer than tokenizing the texts does; what takes
                longer has a thread, and delays no other request.
            timeout: Seconds after which it gives up, at most the server's own limit.
            waiting: As for `predict`.

        Raises:
            ServingError: There is no result.
        """
        with self._request(loaded, name, timeout) as (entry, until):
            request = await self._reader.rows(read, sentences, texts, is_quick, entry, until)
            rows = request.rows
            return request, await run_now_or_batched(loaded, run, rows, entry, until, waiting)

    @asynccontextmanager
    async def steps(
        self, loaded: LoadedVersion, name: str, longest: float, timeout: float | None = None
    ) -> AsyncIterator[Steps]:
        """A request whose rows come in several steps, within one time for all of them.

        Args:
            loaded: The version that `find` returned.
            name: What the request is called in metrics and log.
            longest: Seconds after which it gives up.
            timeout: Seconds after which the client does; None for `longest`.

        Raises:
            ServingError: There is no result.
        """
        with self._request(loaded, name, timeout, longest=longest) as (entry, until):
            async with asyncio.timeout_at(until):
                yield Steps(loaded, self.journal, entry, until, self.options.max_batch)

    async def stream_rows(
        self,
        loaded: LoadedVersion,
        name: str,
        read: Callable[[], Request],
        stream: Stream,
        *,
        sentences: int,
        texts: Sequence[str] = (),
        is_quick: bool = True,
        timeout: float | None = None,
    ) -> AsyncGenerator[tuple[int, Any], None]:
        """Yields what `stream` emits for each row, with the row's place, one row after the other.

        All other arguments are those of `run`.
        """
        with self._request(loaded, name, timeout) as (entry, until):
            request = await self._reader.rows(read, sentences, texts, is_quick, entry, until)
            for place, row in enumerate(request.rows):
                async with aclosing(stream_row(loaded, stream, row, entry, until)) as pieces:
                    async for piece in pieces:
                        yield place, piece

    def kinds(self) -> list[Mapping[str, Signature]]:
        """Returns the signatures of every kind of model that is loaded, each kind once."""
        found = {
            tuple(version.model.signatures): version.model.signatures
            for versions in self._versions.values()
            for version in versions.loaded
        }
        return list(found.values())

    def status(self, model: str, asked: Asked = None) -> list[VersionStatus]:
        """Returns the state of one version, or of all; `asked` is as for `find`."""
        versions = self._of(model)
        if versions is None:
            message = f"Could not find any versions of model {model}"
            raise ServingError(Code.NOT_FOUND, message)
        return versions.status(asked)

    async def stream(
        self,
        loaded: LoadedVersion,
        text: str,
        target_prefix: str = "",
        timeout: float | None = None,
        languages: tuple[str, str] = ("", ""),
        own: Mapping[str, Any] = MappingProxyType({}),
    ) -> AsyncIterator[str]:
        """Yields a greedy translation piece by piece, as it is decoded, sentence after sentence.

        Args:
            loaded: The version that `find` returned.
            text: The source text.
            target_prefix: What the translation begins with; its pieces are yielded too.
            timeout: Seconds after which it gives up, at most the server's own limit.
            languages: Codes of the text's language and of the other one; "" for the defaults.
            own: Options of the search that the request has of its own: how it is drawn, and what
                it must hold.
        """
        with self._request(loaded, "stream", timeout) as (entry, until):
            entry.is_structured = any(name in own for name in GRAMMARS)
            model = streaming(loaded.name, loaded.model)
            options = own_options(loaded, model, own)
            request = await self._reader.text(model, text, target_prefix, languages, entry, own)
            rows = [
                row._replace(own=placed(options, place)) for place, row in enumerate(request.rows)
            ]
            parts = [stream_row(loaded, model.stream, row, entry, until) for row in rows]
            passage, own_parts = await with_attributes(request.passages[0], parts)
            async with aclosing(stream_passage(passage, own_parts)) as pieces:
                async for piece in pieces:
                    yield piece

    async def answer(
        self,
        loaded: LoadedVersion,
        text: str,
        target_prefix: str,
        timeout: float | None,
        languages: tuple[str, str],
    ) -> str:
        """Returns the whole answer to what `stream` answers token by token."""
        with self._request(loaded, "stream", timeout) as (entry, until):
            model = streaming(loaded.name, loaded.model)
            entry.signature, output = model.full_answer
            signature = loaded.model.signatures[entry.signature]
            request = await self._reader.text(model, text, target_prefix, languages, entry)
            running = run_rows(loaded, loaded.model.run(signature), request.rows, entry)
            results = await before(until, running)
            return loaded.model.write(signature, request, results)[output][0].decode()

    async def explain(
        self, loaded: LoadedVersion, text: str, timeout: float | None, languages: tuple[str, str]
    ) -> dict[str, Any]:
        """Returns the best translations of a text with their attention to it; see `stream`.

        Returns:
            As `ServedModel.describe`; each of the `hypotheses`, best first, has `translation`,
            `score`, `log_probability`, `low_confidence`, `target_pieces` (eos included) and
            `attention`, a row for each target piece and a column for each source piece.
        """
        with self._request(loaded, "explain", timeout) as (entry, until):
            async with asyncio.timeout_at(until):
                model = explaining(loaded.name, loaded.model)
                request = await self._reader.text(model, text, "", languages, entry)
                found = await run_rows(loaded, model.explain, request.rows, entry)
                return model.describe(request.passages[0], found)

    def refusals(self, protocol: str, model: str) -> AbstractContextManager[None]:
        """Records a request that fails before it could be served; see `Journal.refusals`."""
        # Names that clients make up are not used as metric labels: their number has no limit.
        return self.journal.refusals(protocol, model if model in self._versions else UNKNOWN)

    def _follow(self, model: ModelOptions) -> Versions:
        load = partial(load_version, options=self.options, given=self.search, journal=self.journal)
        make_batcher = partial(self._make_batcher, model.name)
        versions = Versions(model, load, make_batcher, self.journal)
        self.journal.follow(
            model.name,
            lambda: sum(version.batcher.waiting for version in versions.loaded),
            lambda: versions.newest.number if versions.newest else 0,
            versions.counts,
        )
        return versions

    def _make_batcher(self, name: str, model: Served) -> Batcher:
        options = self.options
        return Batcher(
            max_batch=options.max_batch,
            max_wait=options.max_wait_ms / 1e3,
            max_queue=options.max_queue,
            observe=partial(self.journal.batch, name),
            # What only reads has no steps between which others could go on.
            max_running=_MAX_RUNNING if isinstance(model, Streaming) else 1,
            joining=model.joining if isinstance(model, Streaming) else 0,
            turns=self._turns,
        )

    @contextmanager
    def _request(
        self,
        loaded: LoadedVersion,
        name: str,
        timeout: float | None,
        protocol: str = "rest",
        longest: float | None = None,
    ) -> Iterator[tuple[JournalEntry, float]]:
        """Keeps a version while it serves a request; yields the request's entry and its end."""
        longest = self.options.request_timeout if longest is None else longest
        seconds = longest if timeout is None else min(timeout, longest)
        with self.journal.recorded(protocol, loaded.name) as entry, loaded.use():
            entry.signature = name
            yield entry, asyncio.get_running_loop().time() + seconds
