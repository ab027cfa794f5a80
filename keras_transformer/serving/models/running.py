"""Runs a request's rows, in batches with those of other requests or as a stream of tokens."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any

from keras_transformer.serving.journal import JournalEntry
from keras_transformer.serving.models.served import Run, Streaming
from keras_transformer.serving.models.versioning.versions import LoadedVersion
from keras_transformer.text.sentences import Passage, gap_before


async def run_rows(
    loaded: LoadedVersion, run: Run, rows: Sequence[Any], entry: JournalEntry
) -> list[Any]:
    """Runs rows in batches with those of other requests, and notes how long they waited."""
    if not rows:
        return []
    job = await loaded.batcher.submit(run, rows)
    entry.batch, entry.queue_seconds = job.largest_batch, job.started - job.arrived
    return job.results


async def stream_row(
    loaded: LoadedVersion, model: Streaming, row: Any, entry: JournalEntry, until: float
) -> AsyncGenerator[str, None]:
    """Yields a row's greedy answer piece by piece.

    Args:
        loaded: The version that answers.
        model: The same version's model.
        row: The row.
        entry: The request's entry in the journal.
        until: The event loop's time at which the request is given up.
    """
    pieces: asyncio.Queue[str | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    is_wanted = True

    def emit(piece: str) -> bool:
        loop.call_soon_threadsafe(pieces.put_nowait, piece)
        return is_wanted

    run = partial(_stream_all, model, emit)
    task = loop.create_task(run_rows(loaded, run, [row], entry))
    task.add_done_callback(lambda _: pieces.put_nowait(None))
    try:
        while (piece := await before(until, pieces.get())) is not None:
            yield piece
        await task
    finally:
        is_wanted = False
        task.cancel()


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
    for gap, part in zip(layout[:-1], parts, strict=True):
        lead: str | None = gap
        async with aclosing(part):
            async for piece in part:
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


def _stream_all(model: Streaming, emit: Callable[[str], bool], rows: Sequence[Any]) -> list[None]:
    for row in rows:
        model.stream(row, emit)
    return [None] * len(rows)
