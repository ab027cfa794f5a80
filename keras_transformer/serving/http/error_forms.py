"""The forms of errors: TensorFlow Serving's, which KServe's and LibreTranslate's APIs share, and
OpenAI's.
"""

from typing import Any

from keras_transformer.serving.errors import Code

_TYPES = {
    Code.UNAUTHENTICATED: "authentication_error",
    Code.PERMISSION_DENIED: "permission_error",
    Code.RESOURCE_EXHAUSTED: "rate_limit_error",
}
_CODES = {
    Code.UNAUTHENTICATED: "invalid_api_key",
    Code.RESOURCE_EXHAUSTED: "rate_limit_exceeded",
}


def error_form(
    path: str, status: int, message: str, code: Code | None, param: str | None
) -> dict[str, Any]:
    """Returns the body of an error.

    Args:
        path: The path that was asked for.
        status: The answer's HTTP status.
        message: What was wrong and what was expected.
        code: What kind of failure it is; None for an unknown path or method.
        param: The field that was wrong, if any.
    """
    # Paths of TensorFlow Serving and KServe name a model.
    others = ("/v1/models/", "/v2/models/", "/v2/health/")
    if not path.startswith(("/v1/", "/v2/")) or path.startswith(others):
        return {"error": message}
    return openai_error(status, message, code, param)


def openai_error(
    status: int, message: str, code: Code | None, param: str | None = None
) -> dict[str, Any]:
    """Returns the body of an error in OpenAI's form; arguments as for `error_form`."""
    kind = "server_error" if status >= 500 else "invalid_request_error"
    name = _CODES.get(code) if code else None
    if code is Code.NOT_FOUND and param == "model":
        name = "model_not_found"
    kind = _TYPES.get(code, kind) if code else kind
    return {"error": {"message": message, "type": kind, "param": param, "code": name}}
