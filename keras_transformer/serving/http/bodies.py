"""Bodies of REST requests, read within limits of time and of bytes, before and after
decompression.
"""

import asyncio
import gzip
import io
import zlib

from starlette.types import Receive, Scope

from keras_transformer.serving.errors import Code, ServingError

_ENCODING = b"content-encoding"


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

    async def read(self, scope: Scope, receive: Receive) -> bytes:
        """Returns a request's body, decompressed where its header says gzip.

        Raises:
            ServingError: It is too large, too late or damaged, its encoding is unknown, or the
                client hung up.
        """
        encoding = _encoding(scope)
        try:
            async with asyncio.timeout(self._seconds) as timeout:
                self._arriving.add(timeout)
                try:
                    body = await _receive(receive, self._max_bytes)
                finally:
                    self._arriving.discard(timeout)
        except TimeoutError:
            raise BodyTooLateError(
                Code.DEADLINE_EXCEEDED,
                "the body did not arrive in time: send as many bytes as Content-Length says.",
            ) from None
        if encoding == "gzip":
            return await asyncio.to_thread(_decompress, body, self._max_bytes)
        return body

    def hurry(self, seconds: float) -> None:
        """Gives bodies that are still arriving, and all later ones, at most `seconds` more."""
        self._seconds = min(self._seconds, seconds)
        until = asyncio.get_running_loop().time() + seconds
        for timeout in self._arriving:
            planned = timeout.when()
            timeout.reschedule(until if planned is None else min(until, planned))


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
