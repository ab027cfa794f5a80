"""Paths of our own, for people who look at translations: one streams a translation piece by piece,
one explains it with the n best hypotheses and their attention.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from keras_transformer.serving.errors import Code, ServingError
from keras_transformer.serving.http.exchange import read_timeout, until_hang_up
from keras_transformer.serving.http.json_tensors import read_object
from keras_transformer.serving.http.predict import asked_version
from keras_transformer.serving.http.rest import MODEL_PATHS
from keras_transformer.serving.models.service import Service, streaming
from keras_transformer.serving.models.versions import LoadedVersion

_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def live_routes(service: Service) -> list[Route]:
    """Returns the routes of `:stream` and `:explain`."""
    live = _Live(service)
    return [
        Route(base + verb, endpoint, methods=["POST"])
        for verb, endpoint in ((":stream", live.stream), (":explain", live.explain))
        for base in MODEL_PATHS
    ]


class _Live:
    def __init__(self, service: Service) -> None:
        self._service = service

    async def stream(self, request: Request) -> Response:
        """Sends the pieces of a translation or a continuation as server-sent events."""
        model, version = asked_version(request.scope)
        with self._service.refusals("rest", model):
            timeout = read_timeout(request.scope)
            body = await self._read(request, ("text", "target_prefix"))
            loaded = self._service.find(model, version)
        events = self._events(loaded, body["text"], body.get("target_prefix", ""), timeout)
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
            body = await self._read(request, ("text",))
            loaded = self._service.find(model, version)
        with until_hang_up(request.receive):
            return JSONResponse(await self._service.explain(loaded, body["text"], timeout))

    async def _events(
        self, loaded: LoadedVersion, text: str, prefix: str, timeout: float | None
    ) -> AsyncGenerator[str, None]:
        """Yields the events of a stream; an error before the first of them is raised."""
        translation, has_begun = "", False
        try:
            # The pieces and what beam search finds are one answer: one version gives both.
            with loaded.use():
                async for piece in self._service.stream(loaded, text, prefix, timeout):
                    translation += piece
                    has_begun = True
                    yield _event({"piece": piece})
                if streaming(loaded).search.beam_size > 1:
                    translation = await self._best(loaded, text, prefix, timeout)
            yield _event({streaming(loaded).full_answer[1]: translation}, "done")
        except ServingError as error:
            if not has_begun:
                raise
            yield _event({"error": error.message}, "error")

    async def _best(
        self, loaded: LoadedVersion, text: str, prefix: str, timeout: float | None
    ) -> str:
        """Returns what beam search finds, where greedy search has been streamed."""
        model = streaming(loaded)
        signature, output = model.full_answer
        inputs = model.full_request(text, prefix)
        found = await self._service.predict(loaded, signature, inputs, timeout=timeout)
        return found[output][0].decode()

    async def _read(self, request: Request, names: tuple[str, ...]) -> dict[str, str]:
        """Returns the texts of a request; the first of `names` must be among them."""
        body = read_object(await self._service.bodies.read(request.scope, request.receive))
        for name in body:
            if name not in names:
                raise _refusal(f"unknown key {name!r}, expected {', '.join(names)}.")
        if names[0] not in body:
            raise _refusal(f"the key {names[0]!r} is missing.")
        for name, value in body.items():
            if not isinstance(value, str):
                raise _refusal(f"{name} must be a string.")
            try:
                value.encode()
            except UnicodeEncodeError as error:
                raise _refusal(f"{name} has half a surrogate pair.") from error
        return body


def _event(data: dict[str, Any], name: str | None = None) -> str:
    event = f"event: {name}\n" if name else ""
    return f"{event}data: {json.dumps(data, ensure_ascii=False)}\n\n"


def _refusal(message: str) -> ServingError:
    return ServingError(Code.INVALID_ARGUMENT, message)
