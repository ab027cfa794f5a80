"""uvicorn's HTTP connections with limits for clients that send too much, send too slowly or do not
read their answers; an answer's head and body leave in one packet.

uvicorn writes head and body one after the other. Each would be a packet of its own, and the client
would be woken for a head that it cannot use yet.
"""

import asyncio
import json
import socket
import struct
from collections.abc import Callable
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from keras_transformer.serving.errors import Code
from keras_transformer.serving.http.front.gate import (
    LONGEST_HEADER,
    LONGEST_URL,
    MOST_HEADERS,
    MOST_PIPELINED,
    Gate,
)

_HEAD = b"HTTP/1."
# What a request's body needs of its head; the parser takes none behind `Upgrade`.
_FRAMING = (b"content-length", b"transfer-encoding")
# How long a refused client may go on sending: closed at once, it would not see why.
_LINGER_SECONDS = 1.0
# An answer is read at this pace at least, over each period of this length.
_LEAST_BYTES_A_SECOND = 1024
_READING_SECONDS = 10.0


class _RefusedError(Exception):
    """A head that is refused while it is read."""


class Connection(HttpToolsProtocol):
    """A connection within the limits of a gate.

    Args:
        *given: As uvicorn gives them.
        gate: The limits and counts that all connections share.
        **named: As uvicorn gives them.

    Attributes:
        was_answered: Whether the connection has ever had an answer.
        waiting_since: The event loop's time since which its client is to send a request.
    """

    def __init__(self, *given: Any, gate: Gate, **named: Any) -> None:
        super().__init__(*given, **named)
        self._gate = gate
        self.was_answered = False
        self.waiting_since = self.loop.time()
        self._in_head, self._is_refused, self._is_resumed = True, False, False
        self._has_progressed = False
        self._bytes = self._header_bytes = self._num_headers = 0
        self._refusal = (400, "the request is not HTTP/1.1.")
        self._deadline: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether the connection is open and no answer is due."""
        return not self._is_answering and not self.transport.is_closing()

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def connection_made(self, transport: Any) -> None:
        """Begins to serve a client."""
        joining = _Joining(transport, self.loop, self._watch_reading)
        super().connection_made(joining)  # type: ignore[arg-type]
        self._expect_request()
        are_few = len(self.connections) < self._gate.few_connections
        if not (are_few or self._gate.let_in(self, self.connections)):
            self._refuse(503, "too many connections are open: try again later.")

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends."""
        super().connection_lost(exc)
        for timer in (self._deadline, self._reading):
            if timer is not None:
                timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Reads a request's next bytes, as many as the limits allow."""
        if self._is_refused:
            return
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
            self.timeout_keep_alive_task = None
        if self._in_head and self._deadline is None:
            self._expect_request()
        self._has_progressed = False
        try:
            self._feed(data)
        except httptools.HttpParserError:
            self._refuse(*self._refusal)
            return
        # What is neither body nor the end of a head is head, or stands around the body's chunks.
        self._bytes = 0 if self._has_progressed else self._bytes + len(data)
        if self._bytes > self._gate.header_bytes:
            self._refuse(*self._gate.head_refusal)

    def on_url(self, url: bytes) -> None:
        """Takes a part of the request's target."""
        if self._is_resumed:
            return
        super().on_url(url)
        if len(self.url) > LONGEST_URL:
            self._refusal = (414, f"the request's target is longer than {LONGEST_URL} bytes.")
            raise _RefusedError

    def on_header(self, name: bytes, value: bytes) -> None:
        """Takes a header; a trailer counts, but says nothing that a head has not said."""
        if self._is_resumed:
            return
        size = len(name) + len(value)
        self._num_headers, self._header_bytes = self._num_headers + 1, self._header_bytes + size
        limit = self._gate.header_bytes
        if size > LONGEST_HEADER or self._header_bytes > limit or self._num_headers > MOST_HEADERS:
            self._refusal = self._gate.head_refusal
            raise _RefusedError
        if self._in_head:
            super().on_header(name, value)

    def on_message_begin(self) -> None:
        """Begins a request."""
        if self._is_resumed:
            return
        if len(self.pipeline) >= MOST_PIPELINED:
            raise _RefusedError
        self._num_headers = self._header_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Begins to answer."""
        if not self._is_resumed:
            self._in_head, self._has_progressed = False, True
            self._stop_expecting()
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Takes a part of the body."""
        self._has_progressed = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Ends a request."""
        if self.parser.should_upgrade():
            # Its body, if it has one, is yet to come.
            return
        self._in_head = self._has_progressed = True
        self._stop_expecting()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Waits for the next request, or for the rest of one that was answered without it."""
        self.was_answered, self.waiting_since = True, self.loop.time()
        super().on_response_complete()
        if not self._in_head:
            self._expect_request()

    def pause_writing(self) -> None:
        """Watches how the client reads while more is written than it has read."""
        super().pause_writing()
        self._watch_reading()

    def timeout_keep_alive_handler(self) -> None:
        """Ends a connection that has been idle too long, with what its client has not read."""
        if self.transport.get_write_buffer_size():
            self.give_way()
        super().timeout_keep_alive_handler()

    def give_way(self) -> None:
        """Ends the connection at once, with all that its client has not read."""
        connection = self.transport.get_extra_info("socket")
        if connection is not None:
            # The system, too, forgets what is not sent.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _feed(self, data: bytes) -> None:
        while data:
            try:
                self.parser.feed_data(data)
                return
            except httptools.HttpParserUpgrade as upgrade:
                data = data[upgrade.args[0] :]
                self._resume_without_upgrade()

    def _resume_without_upgrade(self) -> None:
        """Makes a parser read on that has stopped behind a head that asks for another protocol.

        None is offered, and the request itself is answered; the HTTP clients of Java and curl send
        such heads.
        """
        found = [(name, value) for name, value in self.headers if name in _FRAMING]
        framing = b"".join(b"%b: %b\r\n" % header for header in found)
        self.parser = httptools.HttpRequestParser(self)
        self._is_resumed = True
        self.parser.feed_data(b"POST / HTTP/1.1\r\n" + framing + b"\r\n")
        self._is_resumed = False

    def _expect_request(self) -> None:
        """Gives the client some seconds for the rest of what it is sending."""
        self._stop_expecting()
        self.waiting_since = self.loop.time()
        self._deadline = self.loop.call_later(self._gate.header_seconds, self._give_up)

    def _stop_expecting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        if self._is_answering:
            # Meanwhile nothing is read.
            self._expect_request()
        elif self._in_head and not self._bytes:
            self.transport.close()
        else:
            seconds = self._gate.header_seconds
            self._refuse(408, f"the request was not complete within {seconds:g} seconds.")

    def _refuse(self, status: int, message: str) -> None:
        """Answers a refused request and ends the connection."""
        self._is_refused = True
        self._stop_expecting()
        if self.pipeline or (self._is_answering and not self.cycle.more_body):
            # What came before gets its answer.
            self.cycle.keep_alive = False
            return
        self._gate.count_refusal(Code.DEADLINE_EXCEEDED if status == 408 else Code.INVALID_ARGUMENT)
        if self._in_head or not self.cycle.response_started:
            self._write_refusal(status, message)
        if self._is_answering:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._deadline = self.loop.call_later(_LINGER_SECONDS, self.transport.abort)

    def _write_refusal(self, status: int, message: str) -> None:
        body = json.dumps({"error": message}).encode()
        head = b"content-type: application/json\r\ncontent-length: %d\r\n" % len(body)
        end = b"connection: close\r\n\r\n"
        self.transport.write(STATUS_LINE[status] + head + end + body)

    def _watch_reading(self, left: int | None = None) -> None:
        """Checks repeatedly how much the client has not read; ends its connection if it stalls.

        Args:
            left: Bytes that were left at the last look; None at the first.
        """
        now = self.transport.get_write_buffer_size()
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        if left is not None and now > max(0, left - _LEAST_BYTES_A_SECOND * _READING_SECONDS):
            self.give_way()
        elif now:
            self._reading = self.loop.call_later(_READING_SECONDS, self._watch_reading, now)


class _Joining:
    """A transport that writes a head together with what follows in the same turn of the loop.

    Args:
        transport: The transport that it writes to and that does everything else.
        loop: The event loop.
        closing: Called when it is closed.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        closing: Callable[[], None],
    ) -> None:
        self._transport, self._loop, self._closing = transport, loop, closing
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

    def write_eof(self) -> None:
        """Closes the way out once all is written."""
        self._flush()
        self._transport.write_eof()

    def close(self) -> None:
        """Closes once all is written."""
        self._flush()
        self._closing()
        self._transport.close()

    def _flush(self) -> None:
        if self._head:
            head, self._head = self._head, b""
            self._transport.write(head)
