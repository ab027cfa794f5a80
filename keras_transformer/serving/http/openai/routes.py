"""The routes of OpenAI's API, and its list of models."""

from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from keras_transformer.serving.http.exchange import BodyReader, JsonResponse
from keras_transformer.serving.http.openai.chat import chat
from keras_transformer.serving.http.openai.completions import complete
from keras_transformer.serving.http.openai.embeddings import embed
from keras_transformer.serving.http.openai.endpoint import endpoint
from keras_transformer.serving.http.openai.rerank import rerank
from keras_transformer.serving.http.openai.translations import translations
from keras_transformer.serving.http.translators.directions import Directions
from keras_transformer.serving.models.service import Service

_ANSWERS = {
    "/v1/completions": complete,
    "/v1/chat/completions": chat,
    "/v1/embeddings": embed,
    "/v1/rerank": rerank,
    "/v2/rerank": rerank,
}


def openai_routes(service: Service, bodies: BodyReader, directions: Directions) -> list[Route]:
    """Returns the routes, for all models of a server.

    Args:
        service: Answers requests.
        bodies: Reads the bodies of requests.
        directions: The directions of its translators.
    """
    answers = {**_ANSWERS, "/v1/translations": translations(directions)}
    posts = [
        Route(path, endpoint(service, bodies, answer), methods=["POST"])
        for path, answer in answers.items()
    ]
    return [Route("/v1/models", _Models(service).__call__, methods=["GET"]), *posts]


class _Models:
    """`GET /v1/models`.

    Args:
        service: Whose models are listed.
    """

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, request: Request) -> Response:
        """Lists the models that are served."""
        models = [(one.name, one.directory) for one in self._service.models]
        models += self._service.options.adapters.items()
        return JsonResponse({"object": "list", "data": [_model(*one) for one in models]})


def _model(name: str, path: Path) -> dict[str, Any]:
    created = int(path.stat().st_mtime) if path.exists() else 0
    return {
        "id": name,
        "object": "model",
        "created": created,
        "owned_by": "keras-transformer",
    }
