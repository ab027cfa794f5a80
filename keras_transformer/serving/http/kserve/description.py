"""KServe's paths and bodies in the OpenAPI description."""

from keras_transformer.serving.http.kserve.tensors import TAKEN
from keras_transformer.serving.http.operations import (
    Json,
    get,
    json_answer,
    operation,
    parameter_ref,
    post,
)

_STRING: Json = {"type": "string"}
_SHAPE: Json = {"type": "array", "items": {"type": "integer", "minimum": 0}, "maxItems": 8}
_DATATYPE: Json = {"enum": sorted({name for names in TAKEN.values() for name in names})}
_BINARY: Json = {"binary_data": {}, "binary_data_output": {}}


def kserve_paths() -> Json:
    """Returns the paths."""
    answer = json_answer("KServeInferResponse", "The outputs.")
    states = {"200": json_answer("KServeState"), "503": json_answer("KServeState", "Not ready.")}
    paths: Json = {
        "/v2": get("What the server is", "KServeServer", []),
        "/v2/health/live": get("Whether the process is alive", "KServeState", []),
        "/v2/health/ready": {"get": operation("Whether every model answers", states)},
    }
    codes = ["404", "400", "503"]
    base = "/v2/models/{model}"
    for path, names in ((base, ["model"]), (base + "/versions/{version}", ["model", "version"])):
        own = {"parameters": [parameter_ref(name) for name in names]}
        paths |= {
            path: {**own, **get("What a model takes and gives", "KServeModel", codes)},
            path + "/ready": {**own, **get("Whether a model answers", "KServeState", codes)},
            path + "/infer": {**own, "post": post("Runs a model", "KServeInferRequest", answer)},
        }
    return paths


def kserve_schemas() -> Json:
    """Returns the bodies."""
    tensors: Json = {"type": "array", "items": _object({"name": _STRING}, None)}
    return {
        "KServeServer": _object({"name": _STRING, "version": _STRING}, None),
        "KServeState": {"type": "object"},
        "KServeModel": _object({"name": _STRING, "inputs": tensors, "outputs": tensors}, None),
        "KServeInferResponse": _object({"model_name": _STRING, "outputs": tensors}, None),
        "KServeInferRequest": _object(
            {
                "inputs": {
                    "type": "array",
                    "items": _object(
                        {
                            "name": _STRING,
                            "shape": _SHAPE,
                            "datatype": _DATATYPE,
                            "data": {"type": "array"},
                        },
                        {"parameters": _object({}, {})},
                    ),
                }
            },
            {
                "id": _STRING,
                "parameters": _object({}, {"signature_name": _STRING, **_BINARY}),
                "outputs": {
                    "type": "array",
                    "items": _object({"name": _STRING}, {"parameters": _object({}, _BINARY)}),
                },
            },
        ),
    }


def _object(required: Json, optional: Json | None) -> Json:
    """Returns the schema of an object; `None` lets it have any other fields."""
    schema = {
        "type": "object",
        "required": list(required),
        "properties": {**required, **(optional or {})},
    }
    return schema if optional is None else {**schema, "additionalProperties": False}
