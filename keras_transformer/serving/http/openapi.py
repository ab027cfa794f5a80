"""The OpenAPI description of the REST interface, for people, client generators and tests."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from keras_transformer import __version__
from keras_transformer.artefact.search_signatures import AnswerSizes, server_signatures
from keras_transformer.artefact.signatures import Signature
from keras_transformer.serving.http.exchange import TIMEOUT_HEADER
from keras_transformer.serving.http.kserve.description import kserve_paths, kserve_schemas
from keras_transformer.serving.http.openai.description import openai_paths, openai_schemas
from keras_transformer.serving.http.openapi_schemas import schemas
from keras_transformer.serving.http.operations import (
    Json,
    content,
    get,
    json_answer,
    operation,
    parameter_ref,
    post,
)
from keras_transformer.serving.http.translators.description import (
    libretranslate_paths,
    translate_file,
    translators_schemas,
)
from keras_transformer.serving.models.judgements import Judgement
from keras_transformer.serving.models.model_options import ModelOptions
from keras_transformer.serving.settings import ServeOptions

# Of an event stream the schema describes each event; one without a name is a "message".
_EVENT = {
    "type": "object",
    "properties": {"event": {"enum": ["message", "done", "error"]}, "data": {"type": "string"}},
    "required": ["data"],
}
_TEXT = {"type": "string"}
_KEY = {"type": "http", "scheme": "bearer", "description": "A key of --api-key-file."}
_MODEL = "/v1/models/{model}"
_VERSION = _MODEL + "/versions/{version}"
_LABEL = _MODEL + "/labels/{label}"


def describe(
    models: Sequence[ModelOptions],
    options: ServeOptions,
    search: Mapping[str, Any],
    kinds: Sequence[Mapping[str, Signature]] = (),
) -> Json:
    """Returns the description of a server.

    Args:
        models: The models that are served.
        options: The server's limits.
        search: The server's options of the search.
        kinds: The signatures of each kind of model that is loaded; if there is none yet, the models
            are taken to translate.
    """
    kinds = kinds or [server_signatures(AnswerSizes())]
    names = [model.name for model in models]
    labels = sorted({label for model in models for label in model.labels})
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "keras-transformer serve",
            "version": __version__,
            "summary": f"{_summary(kinds)} over TensorFlow Serving's REST interface",
        },
        "paths": {
            **_of_models(labels, kinds),
            **kserve_paths(),
            **openai_paths(kinds),
            **libretranslate_paths(kinds),
            "/healthz": get("Whether the process is alive", "Health", []),
            "/readyz": {
                "get": operation(
                    "Whether requests can be served",
                    {
                        "200": json_answer("Health"),
                        "503": json_answer("Health", "Loading, or stopping."),
                    },
                )
            },
            "/metrics": {
                "get": operation("Prometheus metrics", {"200": content(_TEXT, "text/plain")})
            },
            "/openapi.json": {
                "get": operation("This description", {"200": content({"type": "object"})})
            },
            "/": {"get": operation("A page to try it", {"200": content(_TEXT, "text/html")})},
        },
        "components": {
            "schemas": {
                **schemas(options, search, kinds),
                **kserve_schemas(),
                **openai_schemas(names, tuple(options.adapters)),
                **translators_schemas(),
            },
            "parameters": _parameters([*names, *options.adapters], labels),
            **({"securitySchemes": {"key": _KEY}} if options.api_key_file else {}),
        },
        **({"security": [{"key": []}]} if options.api_key_file else {}),
    }


def _summary(kinds: Sequence[Mapping[str, Signature]]) -> str:
    """Returns what the models do, in one word if they all do the same."""
    if not all("translate_ids" in signatures for signatures in kinds):
        return "Models of text"
    return "Translation"


def _of_models(labels: Sequence[str], kinds: Sequence[Mapping[str, Signature]]) -> Json:
    """The paths of models, each without and with a version and, if there are any, a label."""
    bases = {
        _MODEL: [parameter_ref("model")],
        _VERSION: [parameter_ref("model"), parameter_ref("version")],
    }
    if labels:
        bases[_LABEL] = [parameter_ref("model"), parameter_ref("label")]
    operations = {
        ":predict": _predict(),
        "": get("Status of the versions", "ModelStatus", ["404", "400"]),
        "/metadata": get("Signatures", "Metadata", ["404", "400", "503"]),
        **_live(kinds),
    }
    return {
        base + path: {"parameters": parameters, **operation}
        for path, operation in operations.items()
        for base, parameters in bases.items()
    }


def _live(kinds: Sequence[Mapping[str, Signature]]) -> Json:
    """The operations beyond TensorFlow Serving's that some of the models have."""
    translates = any("translate_ids" in signatures for signatures in kinds)
    generates = any("generate" in signatures for signatures in kinds)
    return {
        **({":stream": {"post": _stream()}} if translates or generates else {}),
        **({":explain": {"post": _explain()}} if translates else {}),
        **({":translate_file": {"post": translate_file()}} if translates else {}),
        "/languages": get("Languages that requests may choose", "Languages", ["404", "400", "503"]),
        **{
            f":{name}": {"post": _judge(name)}
            for name in get_args(Judgement)
            if any(name in signatures for signatures in kinds)
        },
    }


def _parameters(names: Sequence[str], labels: Sequence[str]) -> Json:
    label = {
        "name": "label",
        "in": "path",
        "required": True,
        "description": "The label of a version; each model has its own.",
        "schema": {"type": "string", "enum": list(labels)},
    }
    return {
        **({"label": label} if labels else {}),
        "model": {
            "name": "model",
            "in": "path",
            "required": True,
            "schema": {"type": "string", "enum": list(names)},
        },
        "version": {
            "name": "version",
            "in": "path",
            "required": True,
            "description": "A version that is loaded; paths without one mean the newest.",
            "schema": {"type": "integer", "minimum": 0, "maximum": 10**18 - 1},
        },
        "timeout": {
            "name": TIMEOUT_HEADER,
            "in": "header",
            "description": "Seconds that the request has; the server's own limit applies as well.",
            "schema": {"type": "number", "exclusiveMinimum": 0},
        },
    }


def _predict() -> Json:
    answer = json_answer(
        "PredictResponse", "One prediction for each instance, or columns of outputs."
    )
    return {"post": post("Runs a signature", "PredictRequest", answer)}


def _stream() -> Json:
    events = content(
        _EVENT, "text/event-stream", 'Events with {"piece"}; at last `done` or `error`.'
    )
    return post("Streams an answer as it is generated", "StreamRequest", events)


def _judge(name: str) -> Json:
    what = {"classify": "Labels of examples", "regress": "Numbers of examples"}
    answer = json_answer(f"{name.title()}Response", "A result for each example.")
    return post(what[name], "ExamplesRequest", answer)


def _explain() -> Json:
    return post("Best translations with attention", "ExplainRequest", json_answer("Explanation"))
