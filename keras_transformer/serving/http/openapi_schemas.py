"""The bodies of the REST interface as JSON schemas, for its OpenAPI description."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from keras_transformer.artefact.signatures import DEFAULT_SIGNATURE, Signature, TensorSpec
from keras_transformer.serving.models.rows import GRAMMAR_INPUTS, PHRASES, SAMPLING, STOP
from keras_transformer.serving.settings import ServeOptions

Schema = dict[str, Any]

_NUMBER: Schema = {"type": "number"}
_FLOAT32_MAX = float(np.finfo(np.float32).max)
_FLOAT32: Schema = {"type": "number", "minimum": -_FLOAT32_MAX, "maximum": _FLOAT32_MAX}
_STRING: Schema = {"type": "string"}
_INT32: Schema = {"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1}
_TEXT: Schema = {
    "description": "A text, or its UTF-8 bytes in base64.",
    "oneOf": [
        _STRING,
        {
            "type": "object",
            "required": ["b64"],
            "properties": {"b64": {"type": "string", "contentEncoding": "base64"}},
            "additionalProperties": False,
        },
    ],
}
# JSON, written as a string or as it is.
JSON_SCHEMA: Schema = {"anyOf": [_STRING, {"type": "object"}, {"const": True}]}
_IDS: Schema = {"type": "array", "items": _INT32}
# One row of an input, by its dtype and how many axes it has beside the batch.
_ROWS: dict[tuple[str, int], Schema] = {
    ("string", 0): _TEXT,
    ("int32", 0): _INT32,
    ("int32", 1): _IDS,
    ("float32", 0): _FLOAT32,
    ("bool", 0): {"type": "boolean"},
    ("string", 1): {"type": "array", "items": _TEXT},
}
# Codes; the model's defaults if they are left out or empty.
_LANGUAGES: dict[str, Schema] = {"source_language": _STRING, "target_language": _STRING}
_OPTIONS: dict[str, Schema] = {
    **_LANGUAGES,
    "join_lines": {
        "description": "Whether the wrapped lines of paragraphs are joined.",
        "type": "boolean",
    },
}
_SCORES: dict[str, Schema] = {"score": _NUMBER, "log_probability": _NUMBER}


def schemas(
    options: ServeOptions, search: Mapping[str, Any], kinds: Sequence[Mapping[str, Signature]]
) -> dict[str, Schema]:
    """Returns the components that the paths refer to.

    Args:
        options: The server's limits.
        search: The server's options of the search, for the number of hypotheses.
        kinds: The signatures of each kind of model.
    """
    return {
        "PredictRequest": _predict_request(options, kinds),
        "PredictResponse": {
            "oneOf": [
                _object({"predictions": {"type": "array"}}),
                _object({"outputs": {}}),
            ]
        },
        "ModelStatus": _object(
            {"model_version_status": {"type": "array", "items": _ref("VersionStatus")}}
        ),
        "VersionStatus": _object(
            {
                "version": _STRING,
                "state": {"enum": ["START", "LOADING", "AVAILABLE", "UNLOADING", "END"]},
                "status": _object({"error_code": _STRING, "error_message": _STRING}),
            }
        ),
        "Metadata": _object(
            {
                "model_spec": _object(
                    {"name": _STRING, "signature_name": _STRING, "version": _STRING}
                ),
                "metadata": _object(
                    {
                        "signature_def": {"type": "object"},
                        "graphs": {
                            "description": "The target of the artefact's graphs that run, and why.",
                            **_object(
                                dict.fromkeys(("family", "precision", "target", "reason"), _STRING)
                            ),
                        },
                    }
                ),
            }
        ),
        "Languages": _object(
            {
                "languages": {"type": "array", "items": _STRING},
                "names_source": {
                    "description": "Whether the model is told the text's language, too.",
                    "type": "boolean",
                },
                **{name: {"type": ["string", "null"]} for name in _LANGUAGES},
            }
        ),
        "StreamRequest": _object(
            {"text": _STRING},
            {
                "target_prefix": _STRING,
                **_OPTIONS,
                **{spec.name: _row(spec) for spec in (*SAMPLING, STOP, *GRAMMAR_INPUTS)},
                **{name: {"type": ["array", "string"], "items": _STRING} for name in PHRASES},
            },
        ),
        "ExplainRequest": _object({"text": _STRING}, _OPTIONS),
        "Explanation": _object(
            {
                "sentences": {"type": "array", "items": _ref("Sentence")},
                "gaps": {
                    "description": "The text before each best translation and after the last.",
                    "type": "array",
                    "items": _STRING,
                },
            }
        ),
        "Sentence": _object(
            {
                "source": _STRING,
                "source_pieces": {"type": "array", "items": _STRING},
                "hypotheses": {
                    "type": "array",
                    "maxItems": search.get("num_hypotheses", 1),
                    "items": _ref("Hypothesis"),
                },
            }
        ),
        "Hypothesis": _object(
            {
                "translation": _STRING,
                **_SCORES,
                "low_confidence": {
                    "description": "null where the model knows no threshold.",
                    "type": ["boolean", "null"],
                },
                "target_pieces": {"type": "array", "items": _STRING},
                "attention": {
                    "description": "A row for each target piece, a column for each source piece.",
                    "type": "array",
                    "items": {"type": "array", "items": _NUMBER},
                },
            }
        ),
        "ExamplesRequest": _object(
            {"examples": {**_rows(options), "items": _object({"text": _STRING})}},
            {"signature_name": {"const": ""}, "context": {"const": {}}},
        ),
        "ClassifyResponse": _object(
            {
                "results": {
                    "description": "Of each example pairs of a label and its probability.",
                    "type": "array",
                    "items": {"type": "array", "items": {"type": "array"}},
                }
            }
        ),
        "RegressResponse": _object({"results": {"type": "array", "items": _NUMBER}}),
        "Health": _object({"status": _STRING}),
        "Error": _object({"error": _STRING}),
    }


def _predict_request(options: ServeOptions, kinds: Sequence[Mapping[str, Signature]]) -> Schema:
    rows = _rows(options)
    requests: list[Schema] = []
    for signatures in kinds:
        for name, signature in signatures.items():
            fields = {spec.name: _row(spec) for spec in signature.required}
            more = {spec.name: _row(spec) for spec in signature.optional}
            for schema in (
                _row_request(name, fields, more, rows),
                _column_request(name, fields, more, rows),
            ):
                if schema not in requests:
                    requests.append(schema)
    # Plain values may fit signatures of two kinds of models.
    return {"oneOf" if len(kinds) == 1 else "anyOf": requests}


def _rows(options: ServeOptions) -> Schema:
    return {"type": "array", "maxItems": options.max_sentences}


def _row(spec: TensorSpec) -> Schema:
    if spec.is_json:
        return JSON_SCHEMA
    schema = _ROWS[spec.dtype, len(spec.shape) - 1]
    return schema if spec.least is None else {**schema, "minimum": spec.least}


def _row_request(
    name: str, fields: dict[str, Schema], more: dict[str, Schema], rows: Schema
) -> Schema:
    instances: Schema = {**rows, "items": _object(fields, more)}
    if len(fields) == 1:
        # Plain values or named ones, but not both in one list.
        plain = [{**rows, "items": schema} for schema in fields.values()]
        instances = {"anyOf": [*plain, instances]}
    return _request(name, "instances", instances)


def _column_request(
    name: str, fields: dict[str, Schema], more: dict[str, Schema], rows: Schema
) -> Schema:
    columns, optional = (
        {field: {**rows, "items": schema} for field, schema in part.items()}
        for part in (fields, more)
    )
    inputs = _object(columns, optional)
    if len(fields) == 1:
        inputs = {"oneOf": [*columns.values(), inputs]}
    return _request(name, "inputs", inputs)


def _request(name: str, key: str, values: Schema) -> Schema:
    """A body of one signature in one format; the other format's key must not be there too."""
    other = "inputs" if key == "instances" else "instances"
    signature: Schema = {"const": name}
    required = [key, "signature_name"]
    if name == DEFAULT_SIGNATURE:
        signature, required = {"enum": [name, ""]}, [key]
    return {
        "type": "object",
        "title": f"{name}, {'rows' if key == 'instances' else 'columns'}",
        "required": required,
        "properties": {"signature_name": signature, key: values, other: False},
        "additionalProperties": False,
    }


def _object(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    return {
        "type": "object",
        "required": list(required),
        "properties": {**required, **(optional or {})},
        "additionalProperties": False,
    }


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}
