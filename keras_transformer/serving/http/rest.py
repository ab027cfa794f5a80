"""TensorFlow Serving's REST interface: predict, status and metadata of the model."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from keras_transformer.artefact.signatures import Signature, TensorSpec
from keras_transformer.serving.http.exchange import BodyReader, JsonResponse
from keras_transformer.serving.http.predict import Predict, asked_version
from keras_transformer.serving.models.service import Service

_DTYPES = {"string": "DT_STRING", "int32": "DT_INT32", "float32": "DT_FLOAT", "bool": "DT_BOOL"}
_MODEL = "/v1/models/{model:model}"
# A model, one of its versions, or one of its labels.
MODEL_PATHS = (_MODEL, _MODEL + "/versions/{version:model}", _MODEL + "/labels/{label:model}")


def rest_routes(service: Service, bodies: BodyReader) -> list[Route]:
    """Returns the routes of the REST interface, each with and without a version or a label."""
    rest = _Rest(service)
    return [
        Route(base + path, endpoint, methods=[method])
        for path, endpoint, method in (
            (":predict", Predict(service, bodies), "POST"),
            ("/metadata", rest.metadata, "GET"),
            ("", rest.status, "GET"),
        )
        for base in MODEL_PATHS
    ]


class _Rest:
    def __init__(self, service: Service) -> None:
        self._service = service

    async def status(self, request: Request) -> Response:
        """Returns the state of the versions."""
        statuses = self._service.status(*asked_version(request.scope))
        return JsonResponse(
            {
                "model_version_status": [
                    {
                        "version": str(status.version),
                        "state": status.state,
                        "status": {
                            "error_code": "UNKNOWN" if status.error else "OK",
                            "error_message": status.error or "",
                        },
                    }
                    for status in statuses
                ]
            }
        )

    async def metadata(self, request: Request) -> Response:
        """Describes the signatures, and the graphs that run."""
        loaded = self._service.find(*asked_version(request.scope))
        definitions = {
            name: _definition(signature) for name, signature in loaded.model.signatures.items()
        }
        return JsonResponse(
            {
                "model_spec": {
                    "name": loaded.name,
                    "signature_name": "",
                    "version": str(loaded.number),
                },
                "metadata": {
                    "signature_def": {"signature_def": definitions},
                    "graphs": loaded.model.graphs,
                },
            }
        )


def _definition(signature: Signature) -> dict[str, Any]:
    """Returns a signature as TensorFlow's SignatureDef in JSON."""
    return {
        "inputs": {spec.name: _tensor_info(spec, signature) for spec in signature.inputs},
        "outputs": {spec.name: _tensor_info(spec, signature) for spec in signature.outputs},
        "method_name": "tensorflow/serving/predict",
        "defaults": {},
    }


def _tensor_info(spec: TensorSpec, signature: Signature) -> dict[str, Any]:
    sizes = ("-1" if size is None else str(size) for size in spec.shape)
    return {
        "dtype": _DTYPES[spec.dtype],
        "tensor_shape": {
            "dim": [{"size": size, "name": ""} for size in sizes],
            "unknown_rank": False,
        },
        "name": f"{signature.name}_{spec.name}:0",
    }
