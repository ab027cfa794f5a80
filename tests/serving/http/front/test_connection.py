"""Answers leave in one piece: what is written to the transport beneath an HTTP connection."""

import asyncio
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from keras_transformer.serving.http.front.connection import Connection
from keras_transformer.serving.http.front.gate import Gate
from keras_transformer.serving.journal import Journal

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
SECONDS = 0.02


class Transport:
    """Remembers each write; closed, it takes no more."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.is_closed = False

    def write(self, data: bytes) -> None:
        assert not self.is_closed
        self.written.append(bytes(data))

    def close(self) -> None:
        self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed

    def get_extra_info(self, name: str) -> Any:
        return None

    def get_write_buffer_size(self) -> int:
        return 0

    def resume_reading(self) -> None:
        pass


def answer(app: Any, request: bytes = GET) -> Transport:
    """Sends a request to an application and returns the transport that its answer went to."""

    async def run() -> Transport:
        config = uvicorn.Config(app, lifespan="off", log_config=None, ws="none")
        config.load()
        gate = Gate(1 << 15, 10.0, Journal())
        connection, transport = Connection(config, ServerState(), {}, gate=gate), Transport()
        connection.connection_made(transport)
        connection.data_received(request)
        await asyncio.sleep(5 * SECONDS)
        connection.connection_lost(None)
        return transport

    return asyncio.run(run())


def app_of(*pieces: bytes, seconds: float = 0.0, **headers: str) -> Any:
    """An application that sends its answer's body in pieces, with a pause before each."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        found = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": found})
        for piece in pieces:
            await asyncio.sleep(seconds)
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    return app


def whole(body: bytes) -> Any:
    """An application that sends its answer's body at once."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return app


def test_an_answers_head_and_body_are_one_write() -> None:
    [written] = answer(whole(b"hello")).written
    assert written.startswith(b"HTTP/1.1 200 OK\r\n")
    assert written.endswith(b"\r\n\r\nhello")


def test_an_answer_without_a_body_leaves_too() -> None:
    [written] = answer(whole(b"hello"), GET.replace(b"GET", b"HEAD")).written[:1]
    assert written.endswith(b"content-length: 5\r\n\r\n")


def test_a_head_does_not_wait_for_a_late_body_nor_a_piece_for_the_next() -> None:
    head, *pieces = answer(app_of(b"one", b"two", seconds=SECONDS)).written
    assert head.endswith(b"\r\n\r\n")
    assert pieces[:2] == [b"3\r\none\r\n", b"3\r\ntwo\r\n"]


def test_a_body_that_looks_like_a_head_arrives_in_order() -> None:
    pieces = (b"HTTP/1.1 is a protocol.", b"HTTP/1.0 too.", b"end")
    written = b"".join(answer(app_of(*pieces)).written)
    found = [written.index(piece) for piece in pieces]
    assert found == sorted(found)


def test_nothing_is_lost_where_the_connection_ends_with_the_answer() -> None:
    transport = answer(whole(b"hello"), b"GET / HTTP/1.0\r\n\r\n")
    assert b"".join(transport.written).endswith(b"\r\n\r\nhello")
    assert transport.is_closed
