"""The frame of every REST request: its body, read within limits of time and of bytes; a deadline, a
client who may hang up, a server that shuts down; and errors in TensorFlow Serving's shape.
"""

import asyncio
import gzip
import io
import json
import math
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keras_transformer.serving.errors import Code, ServingError
from keras_transformer.serving.http.error_forms import error_form
from keras_transformer.serving.models.service import Service

TIMEOUT_HEADER = "x-request-timeout"
_TIMEOUT_NAME = TIMEOUT_HEADER.encode()
_RETRY_SECONDS = "1"
_ENCODING = b"content-encoding"
_JSON_HEADER = (b"content-type", b"application/json")


class BodyTooLargeError(ServingError):
    """A body over the limit; HTTP has a status of its own for it."""

    http_status = 413


class BodyTooLateError(ServingError):
    """A body that did not arrive in time; the rest may still come, so the connection is closed."""

    http_status = 408


class BodyEncodingError(ServingError):
    """A body in an encoding that the server cannot read."""

    http_status = 415


class BodyReader:
    """Reads the bodies of all requests within the same limits.

    Args:
        max_bytes: Largest body, as it is sent and as it is once decompressed.
        seconds: Seconds within which a body must have arrived.
    """

    def __init__(self, max_bytes: int, seconds: float) -> None:
        self._max_bytes, self._seconds = max_bytes, seconds
        self._arriving: set[asyncio.Timeout] = set()

    async def read(self, scope: Scope, receive: Receive, max_bytes: int | None = None) -> bytes:
        """Returns a request's body, decompressed where its header says gzip.

        Args:
            scope: The request.
            receive: Gives the parts of the body.
            max_bytes: Largest body if it is not that of all requests.

        Raises:
            ServingError: It is too large, too late or damaged, its encoding is unknown, or the
                client hung up.
        """
        encoding, most = _encoding(scope), max_bytes or self._max_bytes
        try:
            async with asyncio.timeout(self._seconds) as timeout:
                self._arriving.add(timeout)
                try:
                    body = await _receive(receive, most)
                finally:
                    self._arriving.discard(timeout)
        except TimeoutError:
            raise BodyTooLateError(
                Code.DEADLINE_EXCEEDED,
                "the body did not arrive in time: send as many bytes as Content-Length says.",
            ) from None
        if encoding == "gzip":
            return await asyncio.to_thread(_decompress, body, most)
        return body

    def hurry(self, seconds: float) -> None:
        """Gives bodies that are still arriving, and all later ones, at most `seconds` more."""
        self._seconds = min(self._seconds, seconds)
        until = asyncio.get_running_loop().time() + seconds
        for timeout in self._arriving:
            planned = timeout.when()
            timeout.reschedule(until if planned is None else min(until, planned))


class JsonResponse(JSONResponse):
    r"""An answer of JSON that can be encoded whatever text it contains: a lone surrogate, which
    JSON allows but UTF-8 does not, is sent as its escape, `\ud800`.
    """

    def render(self, content: Any) -> bytes:
        """Returns the body."""
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace")


class ClosingWhenDraining:
    """Closes each connection after its answer once the server is shutting down.

    A client then sends its next request to another server, and loses none on a connection that
    closes while it is sending.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes one request on."""
        has_begun = False
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_and_close(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            if message["type"] == "http.response.start" and self._service.draining:
                message["headers"] = [*message["headers"], (b"connection", b"close")]
            await send(message)

        try:
            await self._app(scope, receive, send_and_close)
        except asyncio.CancelledError:
            if has_begun or not self._service.draining:
                raise
            # The time to drain is over; unanswered, the client would get plain text from uvicorn.
            error = ServingError(Code.UNAVAILABLE, "the server is shutting down: ask again.")
            await error_response(error)(scope, receive, send_and_close)


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


class ErrorResponse(Response):
    """An error as JSON, in the form of the API whose path is asked for.

    Args:
        status: The HTTP status.
        message: What was wrong and what was expected.
        code: What kind of failure it is; None for an unknown path or method.
        param: The field that was wrong, if any.
        headers: Headers of the answer.
    """

    def __init__(
        self,
        status: int,
        message: str,
        code: Code | None = None,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status_code=status, headers=headers)
        self._given, self._error = headers, (message, code, param)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        path = scope["path"].removeprefix(scope["root_path"])
        body = error_form(path, self.status_code, *self._error)
        await JsonResponse(body, self.status_code, self._given)(scope, receive, send)


def error_response(error: ServingError) -> ErrorResponse:
    """Returns an error as JSON."""
    headers = {}
    if error.code is Code.RESOURCE_EXHAUSTED:
        headers["Retry-After"] = _RETRY_SECONDS
    if error.code is Code.UNAUTHENTICATED:
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, BodyTooLateError):
        headers["Connection"] = "close"
    return ErrorResponse(error.http_status, error.message, error.code, error.param, headers)


async def answer_serving_error(_: Request, error: Exception) -> ErrorResponse:
    """Answers a `ServingError` raised by one of the framework's routes."""
    if not isinstance(error, ServingError):
        raise error
    return error_response(error)


async def answer_http_error(request: Request, error: Exception) -> ErrorResponse:
    """Answers the framework's own errors (unknown paths, wrong methods) in the same shape."""
    if not isinstance(error, HTTPException):
        raise error
    asked = f"{request.method} {request.url.path}"
    message = {404: f"No such path: {asked}", 405: f"Wrong method: {asked}"}
    return ErrorResponse(
        error.status_code,
        message.get(error.status_code, error.detail),
        headers=error.headers,
    )


def _encoding(scope: Scope) -> str:
    """Returns "gzip", or "" for a body that is sent as it is."""
    found = [value.decode("latin-1") for name, value in scope["headers"] if name == _ENCODING]
    encoding = ", ".join(found).strip().lower()
    if encoding in ("", "identity"):
        return ""
    if encoding in ("gzip", "x-gzip"):
        return "gzip"
    raise BodyEncodingError(
        Code.INVALID_ARGUMENT,
        f"Content-Encoding must be gzip or identity, got {encoding!r}.",
    )


async def _receive(receive: Receive, limit: int) -> bytes:
    """Returns the body as it was sent.

    A body that is too large is read to its end and discarded, since a client that is still sending
    would not see the answer.
    """
    chunks: list[bytes] = []
    size = 0
    has_more = True
    while has_more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ServingError(Code.CANCELLED, "the client hung up.")
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > limit:
            chunks.clear()
        else:
            chunks.append(chunk)
        has_more = message.get("more_body", False)
    if size > limit:
        raise BodyTooLargeError(
            Code.INVALID_ARGUMENT, f"the body has {size} bytes, more than the limit of {limit}."
        )
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _decompress(body: bytes, limit: int) -> bytes:
    """Returns a gzip body's content; no more than a byte over the limit is ever decompressed."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(body)) as file:
            content = file.read(limit + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ServingError(Code.INVALID_ARGUMENT, f"the body is not gzip: {error}") from error
    if len(content) > limit:
        raise BodyTooLargeError(
            Code.INVALID_ARGUMENT,
            f"the body decompresses to more than the limit of {limit} bytes.",
        )
    return content
