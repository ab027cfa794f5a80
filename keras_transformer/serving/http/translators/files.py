"""`:translate_file` translates the texts of a file and sends it back in its own format."""

import asyncio
import base64
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import PurePath
from typing import Any, Literal, NamedTuple, TypeVar, get_args

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from keras_transformer.files.formats import FORMATS, FormatName, document_of
from keras_transformer.files.job import (
    Block,
    Outcome,
    Update,
    chosen_segments,
    document_job,
    next_of,
)
from keras_transformer.files.segments import Document, Reading, Translation
from keras_transformer.files.translating import lacks
from keras_transformer.serving.errors import Code, ServingError, refusal
from keras_transformer.serving.http.exchange import (
    BodyReader,
    JsonResponse,
    read_timeout,
    until_hang_up,
)
from keras_transformer.serving.http.openai.fields import Fields
from keras_transformer.serving.http.predict import asked_version
from keras_transformer.serving.http.rest import MODEL_PATHS
from keras_transformer.serving.models.running import Steps
from keras_transformer.serving.models.served import Translating, translating
from keras_transformer.serving.models.service import Service

_Made = TypeVar("_Made")
_NAME = "translate_file"
# A page whose tags have no end takes minutes.
_READING_SECONDS = 20
# Each takes memory for its document while it is translated.
_AT_ONCE = 4


class _Asked(NamedTuple):
    """The query of a request with a file.

    Attributes:
        name: What the file is called.
        format: Its format; by its name if None.
        update: Which texts are translated.
        reading: How translations are written.
        languages: Codes of its language and of that to translate into; "" for the default.
    """

    name: PurePath
    format: FormatName | None
    update: Update
    reading: Reading
    languages: tuple[str, str]


def file_routes(service: Service, bodies: BodyReader) -> list[Route]:
    """Returns the routes of `:translate_file`."""
    files = _Files(service, bodies)
    return [Route(f"{base}:{_NAME}", files.translate, methods=["POST"]) for base in MODEL_PATHS]


class _Files:
    def __init__(self, service: Service, bodies: BodyReader) -> None:
        self._service, self._bodies = service, bodies
        self._running = 0
        # A document that is given up is still read to its end: these threads are no one else's.
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="file")

    async def translate(self, request: Request) -> Response:
        """Translates a file, which is the body, and sends it as base64 within JSON."""
        model, version = asked_version(request.scope)
        options = self._service.options
        with self._service.refusals("rest", model):
            timeout = read_timeout(request.scope)
            asked = _asked(request, 2 * options.max_file_bytes)
            data = await self._bodies.read(request.scope, request.receive, options.max_file_bytes)
            loaded = self._service.find(model, version)
            translator = translating(loaded.name, loaded.model)
            self._check_busy()
        self._running += 1
        try:
            with until_hang_up(request.receive):
                async with self._service.steps(
                    loaded, _NAME, options.file_timeout, timeout
                ) as steps:
                    outcome = await self._translated(data, asked, translator, steps)
        finally:
            self._running -= 1
        return await asyncio.to_thread(_answer, outcome)

    async def _translated(
        self, data: bytes, asked: _Asked, model: Translating, steps: Steps
    ) -> Outcome:
        document = await self._in_thread(_document, data, asked)
        self._check_count(document, asked.update)
        job = document_job(document, update=asked.update)
        found = await self._in_thread(_next, job)
        while isinstance(found, Block):
            translations = await self._translate(found, asked.languages, model, steps)
            found = await self._in_thread(_next, job, translations)
        return found

    async def _translate(
        self, block: Block, languages: tuple[str, str], model: Translating, steps: Steps
    ) -> list[Translation]:
        profile = self._service.options.markup or block.profile
        request, results = await steps.run(
            lambda: model.read_texts(block.texts, languages, profile, 1),
            model.run_texts(1),
            block.texts,
        )
        found = model.translations(request, results)
        return [
            Translation(best, is_doubtful or lacks(text, best, profile))
            for text, [best, *_], is_doubtful in zip(
                block.texts, found.texts, found.doubtful, strict=True
            )
        ]

    async def _in_thread(self, function: Callable[..., _Made], *arguments: Any) -> _Made:
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)

    def _check_busy(self) -> None:
        if self._running == _AT_ONCE:
            raise ServingError(
                Code.RESOURCE_EXHAUSTED,
                f"{_AT_ONCE} files are being translated, and no more are at once: try again later.",
            )

    def _check_count(self, document: Document, update: Update) -> None:
        most = self._service.options.max_file_texts
        count = sum(len(one.texts) for one in chosen_segments(document, update).values())
        if count > most:
            raise refusal(
                f"a file may have {most} texts to translate, got {count}: part it, or translate it "
                "with `keras-transformer translate-file`."
            )


def _asked(request: Request, most_unpacked: int) -> _Asked:
    given = request.query_params.multi_items()
    names = [name for name, _ in given]
    for name in names:
        if names.count(name) > 1:
            raise refusal(f"{name} is given twice.")
    fields = Fields(dict(given))
    name = PurePath(fields.required("name")).name
    format: Any = fields.choice("format", ("", *FORMATS), "") or None
    update: Any = fields.choice("update", get_args(Update), "untranslated")
    review: Literal["all", "low"] = fields.choice("review", ("all", "low"), "all")  # type: ignore[assignment]
    languages = fields.text("source_language", ""), fields.text("target_language", "")
    to = fields.text("to", languages[1])
    reading = Reading(
        language=to, review=review, most_unpacked=most_unpacked, most_seconds=_READING_SECONDS
    )
    fields.finish((), {})
    return _Asked(PurePath(name), format, update, reading, languages)


def _document(data: bytes, asked: _Asked) -> Document:
    try:
        document = document_of(data, asked.name, asked.reading, asked.format)
    except ValueError as error:
        raise refusal(str(error)) from error
    if not document.segments:
        raise refusal(f"{asked.name} holds no text that could be translated.")
    return document


def _next(job: Any, translations: Sequence[Translation] | None = None) -> Block | Outcome:
    try:
        return next_of(job, translations)
    except ValueError as error:
        # The file's encoding lacks a character of a translation.
        raise refusal(str(error)) from error


def _answer(outcome: Outcome) -> Response:
    return JsonResponse(
        {
            "content": base64.b64encode(outcome.data).decode("ascii"),
            "translated": outcome.translated,
            "left": outcome.left,
            "low_confidence": [one._asdict() for one in outcome.doubts],
            "warnings": list(outcome.warnings),
        }
    )
