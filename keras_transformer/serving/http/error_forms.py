"""The forms of errors: TensorFlow Serving's, which LibreTranslate shares, and OpenAI's."""

from typing import Any

from keras_transformer.serving.errors import Code

_TYPES = {
    Code.UNAUTHENTICATED: "authentication_error",
    Code.PERMISSION_DENIED: "permission_error",
    Code.RESOURCE_EXHAUSTED: "rate_limit_error",
}
_CODES = {
    Code.UNAUTHENTICATED: "invalid_api_key",
    Code.NOT_FOUND: "model_not_found",
    Code.RESOURCE_EXHAUSTED: "rate_limit_exceeded",
}


def error_form(path: str, status: int, message: str, code: Code | None, param: str | None) -> Any:
    """Returns the body of an error.

    Args:
        path: The path that was asked for.
        status: The answer's HTTP status.
        message: What was wrong and what was expected.
        code: What kind of failure it is; None for a path or method that there is none of.
        param: The field that was wrong, if it is one.
    """
    if not is_openai(path):
        return {"error": message}
    kind = "server_error" if status >= 500 else "invalid_request_error"
    if code is not None:
        kind = _TYPES.get(code, kind)
    found = {"message": message, "type": kind, "param": param}
    return {"error": {**found, "code": _CODES.get(code) if code else None}}


def is_openai(path: str) -> bool:
    """Tells whether a path is one of OpenAI's API, or of those who share its form."""
    return path.startswith(("/v1/", "/v2/")) and not path.startswith("/v1/models/")
