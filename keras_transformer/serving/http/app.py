"""The web application, with all paths of the server."""

import asyncio

from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keras_transformer.serving.api_keys import ApiKeys
from keras_transformer.serving.errors import Code, ServingError
from keras_transformer.serving.http.bodies import BodyReader
from keras_transformer.serving.http.exchange import (
    JsonResponse,
    answer_http_error,
    answer_serving_error,
    error_response,
)
from keras_transformer.serving.http.front.access import Access
from keras_transformer.serving.http.front.names import HostNames
from keras_transformer.serving.http.judge import judge_routes
from keras_transformer.serving.http.live import live_routes
from keras_transformer.serving.http.openapi import describe
from keras_transformer.serving.http.page import page_routes
from keras_transformer.serving.http.predict import Predict, PredictFirst
from keras_transformer.serving.http.rest import rest_routes
from keras_transformer.serving.models.service import Service
from keras_transformer.serving.settings import ServeOptions

_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class _ModelName(Convertor[str]):
    """A model's name in a path; what follows a colon is a verb."""

    regex = "[^/:]+"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


def build_app(
    service: Service, bodies: BodyReader, options: ServeOptions, keys: ApiKeys | None
) -> ASGIApp:
    """Returns the application.

    Args:
        service: Answers requests.
        bodies: Reads the bodies of requests.
        options: The server's options.
        keys: The keys that clients need; None if they need none.
    """
    names = [model.name for model in service.models]
    register_url_convertor("model", _ModelName())
    framework = Starlette(
        routes=[
            *rest_routes(service, bodies),
            *live_routes(service, bodies),
            *judge_routes(service, bodies),
            *_operations(service, options),
            *page_routes(names),
        ],
        exception_handlers={ServingError: answer_serving_error, HTTPException: answer_http_error},
    )
    first = PredictFirst(framework, Predict(service, bodies), names)
    named = HostNames(Access(first, service, options, keys), service, options)
    return _ClosingWhenDraining(named, service)


class _ClosingWhenDraining:
    """Closes each connection after its answer once the server is shutting down.

    A client then sends its next request to another server, and loses none on a connection that
    closes while it is sending.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_begun = False
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_and_close(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            if message["type"] == "http.response.start" and self._service.draining:
                message["headers"] = [*message["headers"], (b"connection", b"close")]
            await send(message)

        try:
            await self._app(scope, receive, send_and_close)
        except asyncio.CancelledError:
            if has_begun or not self._service.draining:
                raise
            # The time to drain is over; unanswered, the client would get plain text from uvicorn.
            error = ServingError(Code.UNAVAILABLE, "the server is shutting down: ask again.")
            await error_response(error)(scope, receive, send_and_close)


def _operations(service: Service, options: ServeOptions) -> list[Route]:
    """Returns the routes for operators: health and metrics."""

    async def is_alive(_: Request) -> Response:
        return JsonResponse({"status": "alive"})

    async def is_ready(_: Request) -> Response:
        if service.is_ready:
            return JsonResponse({"status": "ready"})
        reason = "draining" if service.draining else "loading"
        return JsonResponse({"status": reason}, status_code=503)

    async def metrics(_: Request) -> Response:
        return Response(service.journal.metrics(), media_type=_METRICS_TYPE)

    async def openapi(request: Request) -> Response:
        found = describe(service.models, options, service.search, service.kinds())
        # Relative to where the description is: so it is right behind every proxy.
        servers = [{"url": request.scope["root_path"] or "/"}]
        return JsonResponse({**found, "servers": servers})

    return [
        Route("/healthz", is_alive, methods=["GET"]),
        Route("/readyz", is_ready, methods=["GET"]),
        Route("/metrics", metrics, methods=["GET"]),
        Route("/openapi.json", openapi, methods=["GET"]),
    ]
