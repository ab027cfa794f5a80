"""OpenAI's paths and bodies in the OpenAPI description."""

from collections.abc import Mapping, Sequence
from typing import Any

from keras_transformer.artefact.signatures import Signature
from keras_transformer.serving.http.openai import chat, completions, rerank
from keras_transformer.serving.http.openai.endpoint import PATHS
from keras_transformer.serving.http.openai.logprobs import MOST_BEST
from keras_transformer.serving.http.openai.search_fields import MOST_TEXTS, MOST_TOKENS, SILENT
from keras_transformer.serving.http.openapi_schemas import JSON_SCHEMA
from keras_transformer.serving.http.operations import Json, get, json_answer, post

_ERROR = "OpenAiError"
_STRING: Json = {"type": "string"}
_STRINGS: Json = {"type": "array", "items": _STRING, "minItems": 1}
_IDS: Json = {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1}
_INTEGER: Json = {"type": "integer"}
# Summary, and the names of the schemas of its body and its answer.
_OPERATIONS = {
    "/v1/completions": ("Continues prompts", "CompletionRequest", "Texts"),
    "/v1/chat/completions": ("Answers chats", "ChatRequest", "Texts"),
    "/v1/embeddings": ("Vectors of texts", "EmbeddingRequest", "List"),
    "/v1/rerank": ("Ranks documents for a query", "RerankRequest", "Ranking"),
    "/v2/rerank": ("Ranks documents for a query", "RerankRequest", "Ranking"),
    "/v1/translations": ("Translates texts", "TranslationRequest", "List"),
}


def openai_paths(kinds: Sequence[Mapping[str, Signature]]) -> Json:
    """Returns the paths that some of the models answer, by the signatures of each kind."""
    paths: Json = {"/v1/models": get("The models", "Models", [])}
    for path, (summary, request, answer) in _OPERATIONS.items():
        if any(PATHS[path] & set(signatures) for signatures in kinds):
            answered = json_answer(answer, "The answer; with `stream` server-sent events.")
            paths[path] = {"post": post(summary, request, answered, _ERROR)}
    return paths


def openai_schemas(names: Sequence[str], adapters: Sequence[str] = ()) -> Json:
    """Returns the bodies, for models and adapters of these names."""
    model = {"model": {"type": "string", "enum": [*names, *adapters]}}
    required = {} if len(names) == 1 else model
    optional = {} if required else model
    texts = {"anyOf": [_STRING, _STRINGS]}
    return {
        _ERROR: _object(
            {
                "error": _object(
                    {
                        "message": _STRING,
                        "type": _STRING,
                        **dict.fromkeys(("param", "code"), {"type": ["string", "null"]}),
                    }
                )
            }
        ),
        "Models": _list(),
        "List": _list(model=_STRING, usage=_counts()),
        "Texts": _answer(choices={"type": "array"}, usage=_counts()),
        "Ranking": _answer(results={"type": "array"}, usage=_counts(), meta={"type": "object"}),
        "CompletionRequest": _object(
            {
                **required,
                "prompt": {
                    "anyOf": [_STRING, _STRINGS, _IDS, {**_STRINGS, "items": _IDS}],
                },
            },
            {
                **optional,
                **_search(),
                "echo": {"type": "boolean"},
                "max_tokens": {**_tokens(), "minimum": 0},
                "logprobs": {"type": "integer", "minimum": 0, "maximum": MOST_BEST},
                **_neutral(completions.NEUTRAL),
            },
        ),
        "ChatRequest": _object(
            {**required, "messages": {"type": "array", "minItems": 1, "items": _message()}},
            {
                **optional,
                **_search(),
                **dict.fromkeys(("max_tokens", "max_completion_tokens"), _tokens()),
                "chat_template_kwargs": {"type": "object"},
                "logprobs": {"type": "boolean"},
                "top_logprobs": {"type": "integer", "minimum": 0, "maximum": MOST_BEST},
                **_neutral(chat.NEUTRAL),
            },
        ),
        "EmbeddingRequest": _object(
            {**required, "input": texts},
            {
                **optional,
                "encoding_format": {"enum": ["float", "base64"]},
                "dimensions": {"type": "integer", "minimum": 1},
                "prompt_name": _STRING,
                **dict.fromkeys(SILENT, {}),
            },
        ),
        "RerankRequest": _object(
            {
                **required,
                "query": _STRING,
                "documents": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "anyOf": [_STRING, {"type": "object", "required": ["text"]}],
                    },
                },
            },
            {
                **optional,
                "top_n": {"type": "integer", "minimum": 1},
                "return_documents": {"type": "boolean"},
                **_neutral(rerank.NEUTRAL),
            },
        ),
        "TranslationRequest": _object(
            {**required, "input": texts},
            {
                **optional,
                **dict.fromkeys(("source_language", "target_language"), _STRING),
                "format": {"enum": ["text", "html"]},
                **dict.fromkeys(SILENT, {}),
                **_neutral({"stream": (False,), "n": (1,)}),
            },
        ),
    }


def _search() -> Json:
    return {
        "n": {"type": "integer", "minimum": 1, "maximum": MOST_TEXTS},
        "temperature": {"type": "number", "minimum": 0, "maximum": 2},
        "top_p": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        "top_k": {"type": "integer", "minimum": 0},
        "seed": {"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1},
        "stop": {"anyOf": [_STRING, {"type": "array", "items": _STRING, "maxItems": 64}]},
        "json_schema": JSON_SCHEMA,
        "regex": _STRING,
        "choices": _STRINGS,
        "response_format": _response_format(),
        "structured_outputs": _object(
            {},
            {
                "json": JSON_SCHEMA,
                "json_object": {"type": "boolean"},
                "regex": _STRING,
                "choice": _STRINGS,
            },
        ),
        "min_tokens": {"type": "integer", "minimum": 0},
        "repetition_penalty": {"type": "number", "exclusiveMinimum": 0},
        "stream": {"type": "boolean"},
        "stream_options": _object(
            {}, dict.fromkeys(("include_usage", "include_obfuscation"), {"type": "boolean"})
        ),
    }


def _response_format() -> Json:
    schema = _object(
        {"schema": {"type": "object"}},
        {"name": _STRING, "description": _STRING, "strict": {"type": "boolean"}},
    )
    return {
        "anyOf": [
            _object({"type": {"enum": ["text", "json_object"]}}),
            _object({"type": {"const": "json_schema"}, "json_schema": schema}),
        ]
    }


def _tokens() -> Json:
    return {"type": "integer", "minimum": 1, "maximum": MOST_TOKENS}


def _message() -> Json:
    part = _object({"type": {"const": "text"}, "text": _STRING})
    return {
        "type": "object",
        "required": ["role"],
        "properties": {
            "role": {"enum": ["system", "developer", "user", "assistant"]},
            "content": {"anyOf": [_STRING, {"type": "array", "items": part}]},
            "name": _STRING,
        },
    }


def _neutral(fields: Mapping[str, Sequence[Any]]) -> Json:
    """Returns fields that are known for the values that ask for nothing, and those without one."""
    known = {name: {"enum": list(values)} for name, values in fields.items() if values}
    return {**known, **dict.fromkeys(SILENT, {})}


def _counts() -> Json:
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    return {"type": "object", "properties": dict.fromkeys(names, _INTEGER)}


def _answer(**more: Any) -> Json:
    return {
        "type": "object",
        "required": ["id", "object", "model", *more],
        "properties": {"id": _STRING, "object": _STRING, "model": _STRING, **more},
    }


def _list(**more: Any) -> Json:
    return {
        "type": "object",
        "required": ["object", "data", *more],
        "properties": {"object": {"const": "list"}, "data": {"type": "array"}, **more},
    }


def _object(required: Json, optional: Json | None = None) -> Json:
    """Returns an object; of the fields that it may lack, each may be null as well."""
    more = {name: {"anyOf": [one, {"type": "null"}]} for name, one in (optional or {}).items()}
    return {
        "type": "object",
        "required": list(required),
        "properties": {**required, **more},
        "additionalProperties": False,
    }
