"""What every REST request has in common: a body of bounded size, a deadline, a client who may hang
up, and errors in TensorFlow Serving's shape.
"""

import asyncio
import math
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive

from .errors import Code, ServingError

TIMEOUT_HEADER = "x-request-timeout"
_RETRY_SECONDS = "1"


class BodyTooLargeError(ServingError):
    """A body over the limit; HTTP has a status of its own for it."""

    http_status = 413


async def read_body(request: Request, limit: int) -> bytes:
    """Returns the request's body.

    One that is too large is read to its end, and thrown away meanwhile: a client that is still
    sending would not see the answer.

    Raises:
        ServingError: It is larger than `limit` bytes, or the client hung up.
    """
    chunks: list[bytes] = []
    size = 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > limit:
                chunks.clear()
            else:
                chunks.append(chunk)
    except ClientDisconnect as error:
        raise ServingError(Code.CANCELLED, "the client hung up.") from error
    if size > limit:
        raise BodyTooLargeError(
            Code.INVALID_ARGUMENT, f"the body has {size} bytes, more than the limit of {limit}."
        )
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def read_timeout(request: Request) -> float | None:
    """Returns the seconds that the client gives its request; None where it does not say.

    Raises:
        ServingError: The header is no number above 0.
    """
    text = request.headers.get(TIMEOUT_HEADER)
    if text is None:
        return None
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


async def answer_serving_error(_: Request, error: Exception) -> Response:
    """Returns a `ServingError` as TensorFlow Serving's JSON."""
    if not isinstance(error, ServingError):
        raise error
    headers = {"Retry-After": _RETRY_SECONDS} if error.code is Code.RESOURCE_EXHAUSTED else None
    status = error.http_status
    return JSONResponse({"error": error.message}, status_code=status, headers=headers)


async def answer_http_error(request: Request, error: Exception) -> Response:
    """Returns the framework's own errors, unknown paths and wrong methods, in the same shape."""
    if not isinstance(error, HTTPException):
        raise error
    asked = f"{request.method} {request.url.path}"
    message = {404: f"No such path: {asked}", 405: f"Wrong method: {asked}"}
    return JSONResponse(
        {"error": message.get(error.status_code, error.detail)},
        status_code=error.status_code,
        headers=error.headers,
    )
