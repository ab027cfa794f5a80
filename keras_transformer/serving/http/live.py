"""Paths that TensorFlow Serving does not have: `:stream` sends a translation token by token,
`:explain` the n best with their attention, and `/languages` lists the languages to choose from.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from keras_transformer.serving.errors import ServingError, encodable, refusal
from keras_transformer.serving.http.exchange import (
    BodyReader,
    JsonResponse,
    read_timeout,
    until_hang_up,
)
from keras_transformer.serving.http.json_tensors import check_keys, read_object
from keras_transformer.serving.http.predict import asked_version
from keras_transformer.serving.http.rest import MODEL_PATHS
from keras_transformer.serving.models.rows import GRAMMAR_INPUTS, PHRASES, SAMPLING, STOP
from keras_transformer.serving.models.served import Translating, languages_of, streaming
from keras_transformer.serving.models.service import Service
from keras_transformer.serving.models.versioning.versions import LoadedVersion
from keras_transformer.text.joined_lines import join_lines

# A key whose value is true or false: whether wrapped lines are joined.
_JOIN = "join_lines"
_LANGUAGES = ("source_language", "target_language")
# Options of the search that a stream may have of its own.
_OWN = (*(spec.name for spec in (*SAMPLING, STOP, *GRAMMAR_INPUTS)), *PHRASES)
# Those that are lists of strings; one string is a list of one.
_LISTS = (STOP.name, *PHRASES)
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def live_routes(service: Service, bodies: BodyReader) -> list[Route]:
    """Returns the routes of `:stream`, `:explain` and `/languages`."""
    live = _Live(service, bodies)
    return [
        Route(base + path, endpoint, methods=[method])
        for path, endpoint, method in (
            (":stream", live.stream, "POST"),
            (":explain", live.explain, "POST"),
            ("/languages", live.languages, "GET"),
        )
        for base in MODEL_PATHS
    ]


class _Live:
    def __init__(self, service: Service, bodies: BodyReader) -> None:
        self._service, self._bodies = service, bodies

    async def stream(self, request: Request) -> Response:
        """Sends the pieces of a translation or a continuation as server-sent events."""
        model, version = asked_version(request.scope)
        with self._service.refusals("rest", model):
            timeout = read_timeout(request.scope)
            given = read_object(await self._bodies.read(request.scope, request.receive))
            loaded = self._service.find(model, version)
            body, own = self._read_drawn(given, loaded)
        asked = (body["text"], body.get("target_prefix", ""), timeout, _languages(body))
        events = self._events(loaded, asked, own)
        # What is refused before the first piece is answered as any other request.
        with until_hang_up(request.receive):
            first = await anext(events)

        async def all_events() -> AsyncIterator[str]:
            async with aclosing(events):
                yield first
                async for event in events:
                    yield event

        return StreamingResponse(all_events(), media_type="text/event-stream", headers=_HEADERS)

    async def explain(self, request: Request) -> Response:
        """Sends the best translations with their attention."""
        model, version = asked_version(request.scope)
        with self._service.refusals("rest", model):
            timeout = read_timeout(request.scope)
            body = await self._read(request, ("text", _JOIN, *_LANGUAGES))
            loaded = self._service.find(model, version)
        with until_hang_up(request.receive):
            found = self._service.explain(loaded, body["text"], timeout, _languages(body))
            return JsonResponse(await found)

    async def languages(self, request: Request) -> Response:
        """Sends the languages that requests may choose between, and the defaults."""
        model, version = asked_version(request.scope)
        with self._service.refusals("rest", model):
            found = languages_of(self._service.find(model, version).model)
        return JsonResponse(
            {
                "languages": found.codes,
                "names_source": found.source,
                "source_language": found.source_language,
                "target_language": found.target_language,
            }
        )

    async def _events(
        self,
        loaded: LoadedVersion,
        asked: tuple[str, str, float | None, tuple[str, str]],
        own: dict[str, Any],
    ) -> AsyncGenerator[str, None]:
        """Yields the events of a stream; an error before the first of them is raised.

        Args:
            loaded: What answers.
            asked: The arguments of `Service.stream`.
            own: Search options that the request sets.
        """
        translation, has_begun = "", False
        try:
            # The pieces and what beam search finds are one answer: one version gives both.
            with loaded.use():
                async for piece in self._service.stream(loaded, *asked, own):
                    translation += piece
                    has_begun = True
                    yield _event({"piece": piece})
                if streaming(loaded.name, loaded.model).search.beam_size > 1 and not own:
                    # What beam search finds, where greedy search has been streamed.
                    translation = await self._service.answer(loaded, *asked)
            yield _event({streaming(loaded.name, loaded.model).full_answer[1]: translation}, "done")
        except ServingError as error:
            if not has_begun:
                raise
            yield _event({"error": error.message}, "error")

    def _read_drawn(
        self, body: dict[str, Any], loaded: LoadedVersion
    ) -> tuple[dict[str, str], dict[str, Any]]:
        """Returns the texts of a body and its search options."""
        names = ("text", "target_prefix", _JOIN, *_LANGUAGES)
        # Those of other families have errors of their own.
        unknown = [name for name in body if name not in (*names, *_OWN)]
        check_keys(unknown, _stream_keys(loaded))
        own = {name: body.pop(name) for name in _OWN if name in body}
        for name in _LISTS:
            if isinstance(own.get(name, []), str):
                own[name] = [own[name]]
            if not isinstance(own.get(name, []), list) or (
                name in PHRASES and not all(isinstance(one, str) for one in own.get(name, []))
            ):
                raise refusal(f"{name} must be a string or a list of strings.")
        return self._texts(body, names), own

    async def _read(self, request: Request, names: tuple[str, ...]) -> dict[str, str]:
        """Returns the texts of a request; the first of `names` must be among them."""
        body = read_object(await self._bodies.read(request.scope, request.receive))
        check_keys(body, names)
        return self._texts(body, names)

    def _texts(self, body: dict[str, Any], names: tuple[str, ...]) -> dict[str, str]:
        if names[0] not in body:
            raise refusal(f"the key {names[0]!r} is missing.")
        joins = body.pop(_JOIN, False)
        if not isinstance(joins, bool):
            raise refusal(f"{_JOIN} must be true or false.")
        for name, value in body.items():
            if not isinstance(value, str):
                raise refusal(f"{name} must be a string.")
            try:
                value.encode()
            except UnicodeEncodeError as error:
                raise refusal(f"{name} has half a surrogate pair.") from error
        return {**body, "text": join_lines(body["text"])} if joins else body


def _stream_keys(loaded: LoadedVersion) -> list[str]:
    """Returns the keys of a stream that a model takes."""
    model = streaming(loaded.name, loaded.model)
    more = [spec.name for spec in loaded.model.signatures[model.full_answer[0]].more]
    names = ["text", _JOIN]
    if isinstance(model, Translating):
        names += ["target_prefix", *(_LANGUAGES if model.languages.codes else ())]
    return names + [name for name in _OWN if name in more]


def _languages(body: dict[str, str]) -> tuple[str, str]:
    """Returns the languages that a body names; "" for the defaults."""
    source, target = (body.get(name, "") for name in _LANGUAGES)
    return source, target


def _event(data: dict[str, Any], name: str | None = None) -> str:
    event = f"event: {name}\n" if name else ""
    return f"{event}data: {encodable(json.dumps(data, ensure_ascii=False))}\n\n"
