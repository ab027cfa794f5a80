"""Reads requests, whose inputs are checked, tokenized and recorded in the journal, and runs their
rows, in batches with those of other requests or as a stream of tokens.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing
from functools import partial
from types import MappingProxyType
from typing import Any

from keras_transformer.artefact.signatures import Signature
from keras_transformer.search.grammars import GRAMMARS
from keras_transformer.serving.errors import Code, ServingError
from keras_transformer.serving.journal import Journal, JournalEntry
from keras_transformer.serving.models.arrays import check_inputs
from keras_transformer.serving.models.rows import (
    GLOSSARY,
    Arrays,
    Own,
    Request,
    follows_grammar,
    own_of,
)
from keras_transformer.serving.models.served import Completing, Explaining, Run, Served, Streaming
from keras_transformer.serving.models.versioning.versions import LoadedVersion
from keras_transformer.text.passage import Passage, gap_before

# Takes a row and what each piece of its answer is given to, until that returns False.
Stream = Callable[[Any, Callable[[Any], bool]], None]
# Texts of more bytes are tokenized in a thread: in the event loop they would delay all others.
_LONG_BYTES = 1 << 15
# How long a step waits where the queue is full.
_FULL_SECONDS = 0.1


class RequestReader:
    """Reads the requests of a server.

    Args:
        journal: Says whether texts are logged.
        max_sentences: The most sentences of a request.
    """

    def __init__(self, journal: Journal, max_sentences: int) -> None:
        self._journal, self._max_sentences = journal, max_sentences

    async def arrays(
        self,
        model: Served,
        signature: Signature,
        inputs: Arrays,
        entry: JournalEntry,
        until: float,
    ) -> Request:
        """Reads the inputs of a signature.

        Args:
            model: The model.
            signature: The signature.
            inputs: Arrays by name.
            entry: The request's entry in the journal.
            until: The event loop's time at which the request is given up.

        Raises:
            ServingError: They do not fit the signature, or are too many.
        """
        self._count(entry, check_inputs(signature, inputs))
        texts = [
            text
            for spec in signature.inputs
            if spec.dtype == "string" and spec.name in inputs
            for text in inputs[spec.name].tolist()
        ]
        if self._journal.log_text:
            entry.texts = [text.decode(errors="replace") for text in texts]
        read = partial(model.read, signature, inputs)
        # A grammar takes longer to read than its text does.
        is_quick = not any(name in inputs for name in GRAMMARS)
        return await self._read(read, sum(map(len, texts)), entry, until, is_quick)

    async def rows(
        self,
        read: Callable[[], Request],
        sentences: int,
        texts: Sequence[str],
        is_quick: bool,
        entry: JournalEntry,
        until: float,
    ) -> Request:
        """Returns what `read` makes of texts; arguments as for `Service.run`.

        Raises:
            ServingError: A text is refused, or there are too many.
        """
        self._count(entry, sentences)
        if self._journal.log_text:
            entry.texts = texts
        return await self._read(read, sum(map(len, texts)), entry, until, is_quick)

    async def _read(
        self,
        read: Callable[[], Request],
        size: int,
        entry: JournalEntry,
        until: float,
        is_quick: bool = True,
    ) -> Request:
        if size > _LONG_BYTES or not is_quick:
            request = await before(until, asyncio.to_thread(read))
        else:
            request = read()
        entry.cuts = request.cuts
        entry.is_structured = any(map(follows_grammar, request.rows))
        self._count(entry, len(request.rows))
        return request

    async def text(
        self,
        model: Streaming | Explaining,
        text: str,
        target_prefix: str,
        languages: tuple[str, str],
        entry: JournalEntry,
        own: Mapping[str, Any] = MappingProxyType({}),
    ) -> Request:
        """Reads one text; arguments as for `Service.stream`.

        Raises:
            ServingError: The text or a language is refused, or there are too many sentences.
        """
        if self._journal.log_text:
            entry.texts = [text, target_prefix] if target_prefix else [text]
        read = partial(model.read_text, text, target_prefix, languages, own)
        is_long = len(text) + len(target_prefix) > _LONG_BYTES
        request = await asyncio.to_thread(read) if is_long else read()
        self._count(entry, len(request.rows))
        return request

    def _count(self, entry: JournalEntry, sentences: int) -> None:
        """Records how many sentences a request has; refuses too many."""
        entry.sentences = sentences
        if sentences > self._max_sentences:
            raise ServingError(
                Code.INVALID_ARGUMENT,
                f"a request may have {self._max_sentences} sentences, got {sentences}: send "
                "several requests.",
            )


async def run_rows(
    loaded: LoadedVersion,
    run: Run,
    rows: Sequence[Any],
    entry: JournalEntry,
    is_alone: bool = False,
) -> list[Any]:
    """Runs rows in batches with those of other requests, and notes how long they waited."""
    if not rows:
        return []
    job = await loaded.batcher.submit(run, rows, is_alone)
    entry.batch, entry.queue_seconds = job.largest_batch, job.started - job.arrived
    return job.results


async def run_now_or_batched(
    loaded: LoadedVersion,
    run: Run,
    rows: Sequence[Any],
    entry: JournalEntry,
    until: float,
    waiting: Callable[[], AbstractContextManager[None]],
) -> list[Any]:
    """Runs a single row in the event loop if that is quick, and others as `run_rows`.

    Args:
        loaded: The version that answers.
        run: Runs the rows.
        rows: The rows.
        entry: The request's entry in the journal.
        until: The event loop's time at which the request is given up.
        waiting: Makes a context manager that is entered if they have to wait.
    """
    # A stop or an end token ends one continuation at once, and the next one of the same sizes may
    # write for minutes.
    if len(rows) == 1 and not isinstance(loaded.model, Completing):
        results = await loaded.batcher.at_once(run, rows, until)
        if results is not None:
            entry.batch = 1
            return results
    with waiting():
        return await before(until, run_rows(loaded, run, rows, entry))


class Steps:
    """Runs the rows of a request that comes in several steps, such as a file.

    The rows of a step wait for their turn in parts of one batch each, so that a long request keeps
    no other one waiting for longer, and is not refused where the queue is full for a moment.

    Args:
        loaded: The version that answers.
        journal: Says whether texts are logged.
        entry: The request's entry in the journal, which counts all rows.
        until: The event loop's time at which the request is given up.
        max_batch: Most rows of a batch.
    """

    def __init__(
        self,
        loaded: LoadedVersion,
        journal: Journal,
        entry: JournalEntry,
        until: float,
        max_batch: int,
    ) -> None:
        self._loaded, self._journal, self._entry = loaded, journal, entry
        self._until, self._max_batch = until, max_batch

    async def run(
        self, read: Callable[[], Request], run: Run, texts: Sequence[str]
    ) -> tuple[Request, list[Any]]:
        """Returns the rows that `read` makes of texts, in a thread, and their results.

        Raises:
            ServingError: A text is refused, or the model fails.
            TimeoutError: The time is over.
        """
        if self._journal.log_text:
            self._entry.texts = [*self._entry.texts, *texts]
        request = await before(self._until, asyncio.to_thread(read))
        self._entry.sentences += len(request.rows)
        results: list[Any] = []
        for start in range(0, len(request.rows), self._max_batch):
            rows = request.rows[start : start + self._max_batch]
            results += await before(self._until, self._patiently(run, rows))
        return request, results

    async def _patiently(self, run: Run, rows: Sequence[Any]) -> list[Any]:
        while True:
            try:
                return await run_rows(self._loaded, run, rows, self._entry)
            except ServingError as error:
                if error.code is not Code.RESOURCE_EXHAUSTED:
                    raise
                await asyncio.sleep(_FULL_SECONDS)


async def stream_row(
    loaded: LoadedVersion, stream: Stream, row: Any, entry: JournalEntry, until: float
) -> AsyncGenerator[Any, None]:
    """Yields a row's greedy answer piece by piece.

    Args:
        loaded: The version that answers.
        stream: Emits the pieces of a row's answer; of the same version's model.
        row: The row.
        entry: The request's entry in the journal.
        until: The event loop's time at which the request is given up.
    """
    pieces: asyncio.Queue[Any] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    is_wanted = True

    def emit(piece: Any) -> bool:
        loop.call_soon_threadsafe(pieces.put_nowait, piece)
        return is_wanted

    run = partial(_stream_all, stream, emit)
    task = loop.create_task(run_rows(loaded, run, [row], entry, is_alone=True))
    task.add_done_callback(lambda _: pieces.put_nowait(None))
    try:
        while (piece := await before(until, pieces.get())) is not None:
            yield piece
        await task
    finally:
        is_wanted = False
        task.cancel()


async def with_attributes(
    passage: Passage, parts: Sequence[AsyncGenerator[str, None]]
) -> tuple[Passage, Sequence[AsyncGenerator[str, None]]]:
    """Returns a text whose tags have translated attributes, and the parts that are left.

    Args:
        passage: The text.
        parts: The pieces of each part's translation, attributes last.
    """
    first = len(parts) - len(passage.attributes)
    values = []
    for part in parts[first:]:
        async with aclosing(part):
            values.append("".join([piece async for piece in part]))
    return (passage.with_attributes(values) if values else passage), parts[:first]


async def stream_passage(
    passage: Passage, parts: Iterable[AsyncGenerator[str, None]]
) -> AsyncGenerator[str, None]:
    """Yields a text's translation in pieces; joined, they are what `Passage.join` returns.

    Args:
        passage: The text.
        parts: The pieces of each part's translation, none of them empty. Each is started when the
            one before it has ended, and is closed at its end.
    """
    said, layout = "", passage.layout
    for place, (gap, part) in enumerate(zip(layout[:-1], parts, strict=True)):
        lead: str | None = gap
        async with aclosing(part):
            async for found in part:
                piece = passage.put_back(place, found)
                said = piece if lead is None else gap_before(piece, lead, said) + piece
                lead = None
                yield said
        if lead:
            said = lead
            yield said
    if layout[-1]:
        yield layout[-1]


async def before(until: float, awaited: Awaitable[Any]) -> Any:
    """Waits for a result until the event loop's time; raises TimeoutError then."""
    async with asyncio.timeout_at(until):
        return await awaited


def own_options(loaded: LoadedVersion, model: Streaming, own: Mapping[str, Any]) -> Own:
    """Returns the options that a stream has of its own, if the model takes them."""
    if not own:
        return ()
    known = [spec.name for spec in loaded.model.signatures[model.full_answer[0]].more]
    for name in own:
        if name not in known:
            raise ServingError(
                Code.INVALID_ARGUMENT,
                f"{loaded.name} takes no {name}, got {own[name]!r}: leave it out.",
            )
    return own_of({k: v for k, v in own.items() if k != GLOSSARY.name}, model.search)


def _stream_all(stream: Stream, emit: Callable[[Any], bool], rows: Sequence[Any]) -> list[None]:
    for row in rows:
        stream(row, emit)
    return [None] * len(rows)
