"""LibreTranslate's paths and bodies in the OpenAPI description."""

from collections.abc import Mapping, Sequence

from keras_transformer.artefact.signatures import Signature
from keras_transformer.serving.http.operations import (
    ERROR,
    Json,
    get,
    json_answer,
    operation,
    post,
)

_STRING: Json = {"type": "string"}
_TEXTS: Json = {"anyOf": [_STRING, {"type": "array", "items": _STRING, "minItems": 1}]}


def libretranslate_paths(kinds: Sequence[Mapping[str, Signature]]) -> Json:
    """Returns the paths, if a model translates."""
    if not any("translate_ids" in signatures for signatures in kinds):
        return {}
    answer = json_answer("LibreTranslateResponse", "Of a list each is a list.")
    refused = json_answer(ERROR, "No model detects languages.")
    return {
        "/translate": {
            "post": post("Translates, also what a form holds", "LibreTranslateRequest", answer)
        },
        "/languages": get("The languages of the translators", "LibreTranslateLanguages", []),
        "/detect": {"post": operation("Detects no language", {"400": refused})},
        "/frontend/settings": get("What a client's page offers", "LibreTranslateSettings", []),
    }


def libretranslate_schemas() -> Json:
    """Returns the bodies."""
    return {
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
            "properties": {"translatedText": _TEXTS, "alternatives": {"type": "array"}},
        },
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
