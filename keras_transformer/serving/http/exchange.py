"""The frame of every REST request: a deadline, a client who may hang up, and errors in TensorFlow
Serving's shape.
"""

import asyncio
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from keras_transformer.serving.errors import Code, ServingError
from keras_transformer.serving.http.bodies import BodyTooLateError

TIMEOUT_HEADER = "x-request-timeout"
_TIMEOUT_NAME = TIMEOUT_HEADER.encode()
_RETRY_SECONDS = "1"
_JSON_HEADER = (b"content-type", b"application/json")


class JsonResponse(JSONResponse):
    r"""An answer of JSON that can be encoded whatever text it contains: a lone surrogate, which
    JSON allows but UTF-8 does not, is sent as its escape, `\ud800`.
    """

    def render(self, content: Any) -> bytes:
        """Returns the body."""
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace")


def read_timeout(scope: Scope) -> float | None:
    """Returns the seconds that the client gives its request; None if it sets no limit.

    Raises:
        ServingError: The header is not a number above 0.
    """
    found = [value for name, value in scope["headers"] if name == _TIMEOUT_NAME]
    if not found:
        return None
    text = found[0].decode("latin-1")
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not seconds > 0:
        raise ServingError(
            Code.INVALID_ARGUMENT, f"{TIMEOUT_HEADER} must be seconds above 0, got {text!r}."
        )
    return seconds


@contextmanager
def until_hang_up(receive: Receive) -> Iterator[None]:
    """Cancels what runs within when the client hangs up; the body must have been read.

    Raises:
        ServingError: The client hung up.
    """
    task = asyncio.current_task()
    has_hung_up = False

    async def watch() -> None:
        nonlocal has_hung_up
        while (await receive())["type"] != "http.disconnect":
            pass
        has_hung_up = True
        if task is not None:
            task.cancel()

    watcher = asyncio.create_task(watch())
    try:
        yield
    except asyncio.CancelledError:
        if not has_hung_up:
            raise
        if task is not None:
            task.uncancel()
        raise ServingError(Code.CANCELLED, "the client hung up.") from None
    finally:
        watcher.cancel()


async def send_json(send: Send, body: bytes) -> None:
    """Sends an answer of JSON."""
    headers = [_JSON_HEADER, (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def error_response(error: ServingError) -> Response:
    """Returns an error as TensorFlow Serving's JSON."""
    headers = {}
    if error.code is Code.RESOURCE_EXHAUSTED:
        headers["Retry-After"] = _RETRY_SECONDS
    if error.code is Code.UNAUTHENTICATED:
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, BodyTooLateError):
        headers["Connection"] = "close"
    status = error.http_status
    return JsonResponse({"error": error.message}, status_code=status, headers=headers)


async def answer_serving_error(_: Request, error: Exception) -> Response:
    """Answers a `ServingError` raised by one of the framework's routes."""
    if not isinstance(error, ServingError):
        raise error
    return error_response(error)


async def answer_http_error(request: Request, error: Exception) -> Response:
    """Answers the framework's own errors (unknown paths, wrong methods) in the same shape."""
    if not isinstance(error, HTTPException):
        raise error
    asked = f"{request.method} {request.url.path}"
    message = {404: f"No such path: {asked}", 405: f"Wrong method: {asked}"}
    return JsonResponse(
        {"error": message.get(error.status_code, error.detail)},
        status_code=error.status_code,
        headers=error.headers,
    )
