"""LibreTranslate's paths and bodies, and `:translate_file`, in the OpenAPI description."""

from collections.abc import Mapping, Sequence
from typing import get_args

from keras_transformer.artefact.signatures import Signature
from keras_transformer.files.formats import FORMATS
from keras_transformer.files.job import Update
from keras_transformer.serving.http.operations import Json, get, json_answer, post, post_file, query

_STRING: Json = {"type": "string"}
_TEXTS: Json = {"anyOf": [_STRING, {"type": "array", "items": _STRING, "minItems": 1}]}
_DETECTED: Json = {
    "type": "object",
    "required": ["confidence", "language"],
    "properties": {"confidence": {"type": "number"}, "language": _STRING},
}


def libretranslate_paths(kinds: Sequence[Mapping[str, Signature]]) -> Json:
    """Returns the paths, if a model translates or may detect languages."""
    detected = json_answer("LibreTranslateDetections", "The languages, the most probable first.")
    detecting: Json = {
        "/detect": {
            "post": post("Tells which languages a text may be in", "LibreTranslateText", detected)
        }
    }
    if not any("translate_ids" in signatures for signatures in kinds):
        return detecting if any("classify" in signatures for signatures in kinds) else {}
    answer = json_answer("LibreTranslateResponse", "Of a list each is a list.")
    return {
        **detecting,
        "/translate": {
            "post": post("Translates, also what a form holds", "LibreTranslateRequest", answer)
        },
        "/languages": get("The languages of the translators", "LibreTranslateLanguages", []),
        "/frontend/settings": get("What a client's page offers", "LibreTranslateSettings", []),
    }


def translate_file() -> Json:
    """Returns the operation that translates a file."""
    parameters = [
        query("name", _STRING, required=True),
        query("format", {"enum": FORMATS}),
        query("update", {"enum": get_args(Update)}),
        query("review", {"enum": ["all", "low"]}),
        *(query(name, _STRING) for name in ("to", "source_language", "target_language")),
    ]
    answer = json_answer("FileTranslation", "The file, and what should be looked at.")
    return post_file("Translates a file in its own format", parameters, answer)


def translators_schemas() -> Json:
    """Returns the bodies."""
    return {
        "FileTranslation": {
            "type": "object",
            "required": ["content", "translated", "left", "low_confidence", "warnings"],
            "properties": {
                "content": {"type": "string", "contentEncoding": "base64"},
                "translated": {"type": "integer"},
                "left": {"type": "integer"},
                "low_confidence": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["line", "text", "translation"],
                        "properties": {
                            "line": {"type": "integer"},
                            "text": _STRING,
                            "translation": _STRING,
                        },
                    },
                },
                "warnings": {"type": "array", "items": _STRING},
            },
        },
        "LibreTranslateRequest": {
            "type": "object",
            "required": ["q", "source", "target"],
            "properties": {
                "q": _TEXTS,
                "source": _STRING,
                "target": _STRING,
                "format": {"enum": ["text", "html", None]},
                "alternatives": {"type": ["integer", "null"], "minimum": 0, "maximum": 100},
                "api_key": {"type": ["string", "null"]},
            },
            "additionalProperties": False,
        },
        "LibreTranslateResponse": {
            "type": "object",
            "required": ["translatedText"],
            "properties": {
                "translatedText": _TEXTS,
                "alternatives": {"type": "array"},
                "detectedLanguage": {"anyOf": [_DETECTED, {"type": "array", "items": _DETECTED}]},
            },
        },
        "LibreTranslateText": {
            "type": "object",
            "required": ["q"],
            "properties": {"q": _STRING, "api_key": {"type": ["string", "null"]}},
            "additionalProperties": False,
        },
        "LibreTranslateDetections": {"type": "array", "items": _DETECTED},
        "LibreTranslateLanguages": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["code", "name", "targets"],
                "properties": {
                    "code": _STRING,
                    "name": _STRING,
                    "targets": {"type": "array", "items": _STRING},
                },
            },
        },
        "LibreTranslateSettings": {"type": "object", "required": ["language"]},
    }
