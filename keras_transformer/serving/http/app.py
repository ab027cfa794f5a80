"""The web application, with all paths of the server."""

from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from keras_transformer.serving.api_keys import ApiKeys
from keras_transformer.serving.errors import ServingError
from keras_transformer.serving.http.exchange import (
    BodyReader,
    ClosingWhenDraining,
    JsonResponse,
    answer_http_error,
    answer_serving_error,
)
from keras_transformer.serving.http.front.access import Access, HostNames
from keras_transformer.serving.http.judge import judge_routes
from keras_transformer.serving.http.kserve.routes import kserve_routes
from keras_transformer.serving.http.live import live_routes
from keras_transformer.serving.http.openai.routes import openai_routes
from keras_transformer.serving.http.openapi import describe
from keras_transformer.serving.http.page import page_routes
from keras_transformer.serving.http.predict import Predict, PredictFirst
from keras_transformer.serving.http.rest import rest_routes
from keras_transformer.serving.http.translators.directions import Directions
from keras_transformer.serving.http.translators.files import file_routes
from keras_transformer.serving.http.translators.libretranslate import libretranslate_routes
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
    directions = Directions(service, options.pairs)
    framework = Starlette(
        routes=[
            *rest_routes(service, bodies),
            *live_routes(service, bodies),
            *judge_routes(service, bodies),
            *file_routes(service, bodies),
            *kserve_routes(service, bodies),
            *openai_routes(service, bodies, directions),
            *libretranslate_routes(service, bodies, directions, keys),
            *_operations(service, options),
            *page_routes(names),
        ],
        exception_handlers={ServingError: answer_serving_error, HTTPException: answer_http_error},
    )
    first = PredictFirst(framework, Predict(service, bodies), names)
    named = HostNames(Access(first, service, options, keys), service, options)
    return ClosingWhenDraining(named, service)


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
