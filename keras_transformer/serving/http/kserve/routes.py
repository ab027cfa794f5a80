"""The paths of KServe's second protocol: health, descriptions of models, and inference."""

import json
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from keras_transformer import __version__
from keras_transformer.artefact.signatures import DEFAULT_SIGNATURE
from keras_transformer.serving.http.exchange import (
    BodyReader,
    JsonResponse,
    read_timeout,
    until_hang_up,
)
from keras_transformer.serving.http.json_tensors import read_inputs, read_object
from keras_transformer.serving.http.kserve.tensors import describe, read_infer, write_tensors
from keras_transformer.serving.http.predict import asked_version
from keras_transformer.serving.models.outputs import written
from keras_transformer.serving.models.service import Service

_MODEL = "/v2/models/{model:model}"
_MODELS = (_MODEL, _MODEL + "/versions/{version:model}")


def kserve_routes(service: Service, bodies: BodyReader) -> list[Route]:
    """Returns the routes, those of a model with and without a version."""
    kserve = _KServe(service, bodies)
    return [
        Route("/v2", kserve.server, methods=["GET"]),
        Route("/v2/health/live", kserve.is_live, methods=["GET"]),
        Route("/v2/health/ready", kserve.is_ready, methods=["GET"]),
        *(Route(base, kserve.model, methods=["GET"]) for base in _MODELS),
        *(Route(base + "/ready", kserve.is_model_ready, methods=["GET"]) for base in _MODELS),
        *(Route(base + "/infer", kserve.infer, methods=["POST"]) for base in _MODELS),
    ]


class _KServe:
    def __init__(self, service: Service, bodies: BodyReader) -> None:
        self._service, self._bodies = service, bodies

    async def server(self, _: Request) -> Response:
        """Tells what the server is; it has none of the protocol's extensions."""
        return JsonResponse({"name": "keras-transformer", "version": __version__, "extensions": []})

    async def is_live(self, _: Request) -> Response:
        """Tells that the process is alive."""
        return JsonResponse({"live": True})

    async def is_ready(self, _: Request) -> Response:
        """Tells whether every model answers."""
        ready = self._service.is_ready
        return JsonResponse({"ready": ready}, status_code=200 if ready else 503)

    async def is_model_ready(self, request: Request) -> Response:
        """Tells that a model, or a version of it, answers."""
        loaded = self._service.find(*asked_version(request.scope))
        return JsonResponse({"name": loaded.name, "ready": True})

    async def model(self, request: Request) -> Response:
        """Describes what the default signature takes and gives."""
        loaded = self._service.find(*asked_version(request.scope))
        signature = loaded.signature(DEFAULT_SIGNATURE)
        states = self._service.status(loaded.name)
        return JsonResponse(
            {
                "name": loaded.name,
                "versions": [str(one.version) for one in states if one.state == "AVAILABLE"],
                "platform": "onnxruntime_onnx",
                "inputs": describe(signature.required),
                "outputs": describe(signature.outputs),
            }
        )

    async def infer(self, request: Request) -> Response:
        """Runs a signature."""
        model, version = asked_version(request.scope)
        with self._service.refusals("rest", model):
            timeout = read_timeout(request.scope)
            asked = read_infer(read_object(await self._bodies.read(request.scope, request.receive)))
            loaded = self._service.find(model, version)
            signature = loaded.signature(asked.signature_name)
            wanted = asked.wanted(signature)
            inputs = read_inputs(asked.columns(signature), signature)
        outputs = await self._service.predict(
            loaded,
            signature,
            inputs,
            timeout=timeout,
            waiting=partial(until_hang_up, request.receive),
        )
        head: dict[str, Any] = {"model_name": loaded.name, "model_version": str(loaded.number)}
        if asked.id is not None:
            head["id"] = asked.id
        tensors = await written(outputs, partial(write_tensors, outputs, wanted))
        body = b'%b,"outputs":%b}' % (json.dumps(head).encode()[:-1], tensors)
        return Response(body, media_type="application/json")
