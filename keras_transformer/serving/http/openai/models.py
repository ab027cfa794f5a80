"""OpenAI's list of models."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from keras_transformer.serving.http.exchange import JsonResponse
from keras_transformer.serving.models.service import Service


class Models:
    """`GET /v1/models`.

    Args:
        service: Whose models are listed.
    """

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, request: Request) -> Response:
        """Lists the models that are served."""
        return JsonResponse({"object": "list", "data": list(map(_model, self._service.models))})


def _model(options: Any) -> dict[str, Any]:
    created = int(options.directory.stat().st_mtime) if options.directory.exists() else 0
    return {
        "id": options.name,
        "object": "model",
        "created": created,
        "owned_by": "keras-transformer",
    }
