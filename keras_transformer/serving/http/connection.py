"""HTTP connections of uvicorn that send an answer's head and body in one packet.

uvicorn writes head and body one after the other. Each would be a packet of its own, and the client
would be woken for a head that it cannot use yet.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_HEAD = b"HTTP/1."


class Connection(HttpToolsProtocol):
    """A connection that holds back the head of an answer until the body's first piece."""

    def connection_made(self, transport: Any) -> None:
        """Begins to serve a client."""
        super().connection_made(_Joining(transport, self.loop))  # type: ignore[arg-type]


class _Joining:
    """A transport that writes a head together with what follows in the same turn of the loop.

    Args:
        transport: The transport that it writes to and that does everything else.
        loop: The event loop.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._head = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Writes; a head is written at the latest at the end of this turn of the loop."""
        if self._head:
            data, self._head = self._head + data, b""
        elif data.startswith(_HEAD):
            self._head = data
            self._loop.call_soon(self._flush)
            return
        self._transport.write(data)

    def close(self) -> None:
        """Closes once all is written."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._head:
            head, self._head = self._head, b""
            self._transport.write(head)
