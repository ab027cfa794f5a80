"""A client that sends too much, too slowly or in vain is told so and cut off; others are served."""

import contextlib
import json
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
PREDICT = b"POST /v1/models/demo:predict HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = PREDICT + b"Transfer-Encoding: chunked\r\n\r\n"
BODY = b'{"instances": ["the red dog"]}'
HEADER_SECONDS = 0.4


@pytest.fixture(scope="module")
def server(exported: Any, start_shared: Callable[..., Any]) -> Any:
    """A server that is short of patience."""
    return start_shared(
        exported.path, header_timeout=HEADER_SECONDS, request_timeout=0.8, max_sentences=200
    )


@pytest.fixture
def connect(server: Any) -> Iterator[Callable[..., socket.socket]]:
    """`connect(data=b"")`: a connection on which the data has been sent."""
    with contextlib.ExitStack() as stack:

        def begin(data: bytes = b"") -> socket.socket:
            host, _, port = server.rest_url.removeprefix("http://").rpartition(":")
            connection = socket.create_connection((host, int(port)), timeout=20)
            stack.enter_context(connection)
            # A client that is cut off while it sends still reads why.
            with contextlib.suppress(ConnectionError):
                connection.sendall(data)
            return connection

        yield begin


def answer(connection: socket.socket) -> tuple[int, Any]:
    """Returns the status and the JSON of the first answer, read until the server closes."""
    head, _, body = rest(connection).partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def rest(connection: socket.socket) -> bytes:
    """Returns what comes until the server closes."""
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while data := connection.recv(1 << 16):
            found += data
    return found


@pytest.mark.parametrize(
    ("head", "status", "message"),
    [
        (GET + b"X: " + b"a" * 9000 + b"\r\n\r\n", 431, "none longer than 8192"),
        (GET + b"a" * 9000 + b": x\r\n\r\n", 431, "none longer than 8192"),
        (GET + b"X: y\r\n" * 100 + b"\r\n", 431, "may have 100 headers"),
        (GET + b"".join(b"X%d: %b\r\n" % (n, b"a" * 1000) for n in range(40)), 431, "32768 bytes"),
        (GET + b"X: " + b"a" * 3_000_000, 431, "32768 bytes together"),
        (GET + b"a" * 3_000_000, 431, "32768 bytes together"),
        (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n", 414, "longer than 8192 bytes"),
        (b"GET /" + b"a" * 3_000_000, 414, "longer than 8192 bytes"),
        (b"\r\n" * 500_000, 431, "32768 bytes together"),
        (CHUNKED + b"0\r\nX: " + b"a" * 9000 + b"\r\n\r\n", 431, "none longer than 8192"),
        (CHUNKED + b"0\r\n" + b"X: y\r\n" * 200 + b"\r\n", 431, "100 headers and trailers"),
        (CHUNKED + b"0\r\nX: " + b"a" * 3_000_000, 431, "32768 bytes together"),
        (CHUNKED + b"1;x=" + b"a" * 3_000_000, 431, "32768 bytes together"),
        (b"hello\r\n\r\n", 400, "not HTTP/1.1"),
        (b"GET /caf\xe9 HTTP/1.1\r\nHost: a\r\n\r\n", 400, "not HTTP/1.1"),
        (b"\x16\x03\x01" + b"\0" * 100, 400, "not HTTP/1.1"),
    ],
    ids=lambda value: value[-30:] if isinstance(value, bytes) else None,
)
def test_a_head_that_is_too_large_is_refused_while_it_arrives(
    connect: Callable[..., socket.socket], head: bytes, status: int, message: str
) -> None:
    found, body = answer(connect(head))
    assert found == status
    assert list(body) == ["error"] and message in body["error"]


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"", None),
        (b"\r\n", 408),
        (b"GET", 408),
        (GET, 408),
        (CHUNKED + b"1\r\nx", 408),
        (PREDICT + b"Content-Length: 9\r\n\r\n123", 408),
    ],
)
def test_what_does_not_arrive_in_time_is_cut_off(
    connect: Callable[..., socket.socket], data: bytes, status: int | None
) -> None:
    began = time.monotonic()
    connection = connect(data)
    if status is None:
        assert rest(connection) == b""
    else:
        assert answer(connection)[0] == status
    assert HEADER_SECONDS / 2 < time.monotonic() - began < 10


def test_what_trickles_is_cut_off(connect: Callable[..., socket.socket]) -> None:
    connection = connect(GET)
    began = time.monotonic()
    with contextlib.suppress(ConnectionError):
        while time.monotonic() - began < 10:
            connection.sendall(b"X: y\r\n")
            time.sleep(0.1)
    assert time.monotonic() - began < 5


def test_the_rest_of_a_request_that_was_answered_early_must_follow(
    connect: Callable[..., socket.socket],
) -> None:
    head = b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999\r\n\r\n"
    began = time.monotonic()
    connection = connect(head + b"123")
    assert rest(connection).startswith(b"HTTP/1.1 404")
    assert time.monotonic() - began < 5


def test_large_but_allowed_heads_trailers_and_pipelines_are_served(
    connect: Callable[..., socket.socket],
) -> None:
    headers = b"".join(b"X%d: %b\r\n" % (n, b"a" * 7000) for n in range(4))
    end = b"Connection: close\r\n\r\n"
    assert answer(connect(GET + headers + end)) == (200, {"status": "alive"})
    found = rest(connect((GET + b"X: %b\r\n\r\n" % (b"a" * 900)) * 90 + GET + end))
    assert found.count(b"HTTP/1.1 200 OK") == 91
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in BODY)
    head = PREDICT + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    trailers = b"0\r\nContent-Encoding: gzip\r\nX-Request-Timeout: none\r\n\r\n"
    assert answer(connect(head + chunks + trailers))[0] == 200


@pytest.mark.parametrize("protocol", [b"h2c", b"websocket"])
def test_a_client_that_would_rather_speak_another_protocol_is_answered(
    connect: Callable[..., socket.socket], protocol: bytes
) -> None:
    upgrade = (
        b"Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: \r\nUpgrade: %b\r\n" % protocol
    )
    length = b"Content-Length: %d\r\n\r\n" % len(BODY)
    connection = connect(PREDICT + upgrade + length + BODY[:5])
    time.sleep(0.1)
    connection.sendall(BODY[5:] + GET + upgrade + b"\r\n" + GET + b"Connection: close\r\n\r\n")
    found = rest(connection)
    assert found.count(b"HTTP/1.1 200 OK") == 3 and b'{"predictions":' in found


def test_an_answer_that_is_due_comes_before_what_is_wrong_afterwards(
    connect: Callable[..., socket.socket],
) -> None:
    length = b"Content-Length: %d\r\n\r\n" % len(BODY)
    found = rest(connect(PREDICT + length + BODY + b"nonsense\r\n\r\n"))
    assert found.startswith(b"HTTP/1.1 200 OK") and b"predictions" in found


def test_of_very_many_requests_at_once_the_first_are_answered(
    connect: Callable[..., socket.socket],
) -> None:
    found = rest(connect((GET + b"\r\n") * 3000))
    assert 100 <= found.count(b"HTTP/1.1 200 OK") < 3000
    assert found.count(b"connection: close") == 1


def test_who_does_not_read_is_cut_off(
    connect: Callable[..., socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "keras_transformer.serving.http.front.connection"
    monkeypatch.setattr(f"{module}._READING_SECONDS", 0.2)
    page = b"GET /page/page.js HTTP/1.1\r\nHost: localhost\r\n\r\n"
    connection = connect()
    # The system sends what its own buffers hold; then the server waits for the client to read.
    with pytest.raises(ConnectionError):
        for _ in range(100):
            connection.sendall(page * 90)
            time.sleep(0.1)
