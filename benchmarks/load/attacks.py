"""What a hostile client sends to a server over the loopback interface: each attack is bounded in
count and in time, and tells how it was answered.
"""

import contextlib
import gzip
import json
import random
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from .servers import MODEL_NAME

Answers = Counter[str]
Attack = Callable[[int], Answers]
_PREDICT = f"/v1/models/{MODEL_NAME}:predict"
_HEAD = "Host: localhost\r\n"
_CHUNKED = f"POST {_PREDICT} HTTP/1.1\r\n{_HEAD}Transfer-Encoding: chunked\r\n\r\n".encode()
_GET = f"GET /healthz HTTP/1.1\r\n{_HEAD}".encode()
_PAGE = f"GET /page/page.js HTTP/1.1\r\n{_HEAD}\r\n".encode()
_MEGABYTE = 1 << 20
# Longer than any of the server's time limits; nothing here waits longer.
_PATIENCE_SECONDS = 45.0
_PIECE = 1 << 16


def attacks() -> dict[str, Attack]:
    """Returns the attacks by what they are; each takes the server's port on 127.0.0.1."""
    large = b"a" * (30 * _MEGABYTE)
    small = b"".join(b"X%d: y\r\n" % number for number in range(3_000_000))
    return {
        "one header of 90 MB": _sending([_GET + b"X: " + large * 3]),
        "30 MB of small headers": _sending([_GET + small]),
        "a target of 30 MB": _sending([b"GET /" + large]),
        "30 MB of empty lines": _sending([b"\r\n" * (15 * _MEGABYTE)]),
        "30 MB of trailers": _sending([_CHUNKED + b"0\r\n" + small]),
        "a chunk's extension of 30 MB": _sending([_CHUNKED + b"1;x=" + large]),
        "random bytes": _sending(_random_bytes(300)),
        "requests with random bytes changed": _sending(_changed_requests(300)),
        "halves of surrogate pairs": _sending(_bodies(_surrogates())),
        "foreign keys, and keys given twice": _sending(_bodies(_wrong_keys())),
        "numbers out of range": _sending(_bodies(_wrong_numbers())),
        "foreign hosts": _sending([_foreign_host(number) for number in range(50)]),
        "a text of 100,000 letters without a space": _sending(_bodies([_text("a" * 100_000)])),
        "lists nested 100,000 deep": _sending(_bodies(["[" * 100_000])),
        "gzip that grows to 1 GB": _sending([_bomb()]),
        "100 half-sent heads": lambda port: _holding(port, [_GET] * 100),
        "20 heads that trickle": lambda port: _holding(port, [_GET] * 20, trickle=b"X: y\r\n"),
        "20 bodies that trickle": lambda port: _holding(
            port, [_post(b"", length=_MEGABYTE)] * 20, trickle=b"a"
        ),
        "20 clients that ask 2,000 times and do not read": lambda port: _holding(
            port, [_PAGE * 2000] * 20, trickle=_PAGE, reads=False
        ),
    }


def _sending(requests: Iterable[bytes]) -> Attack:
    """Returns an attack that sends requests one after the other, each on its own connection."""

    def attack(port: int) -> Answers:
        answers: Answers = Counter()
        for request in requests:
            with _connected(port, request) as connection:
                answers[_status(connection)] += 1
        return answers

    return attack


def _holding(
    port: int, beginnings: list[bytes], trickle: bytes = b"", *, reads: bool = True
) -> Answers:
    """Holds connections open at the same time, each with its beginning sent, until they end.

    Args:
        port: The server's.
        beginnings: What is sent at once.
        trickle: What is sent on each twice a second.
        reads: Whether an answer is looked for, which ends a connection, too.
    """
    answers: Answers = Counter()
    until = time.monotonic() + _PATIENCE_SECONDS
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(_connected(port, one)) for one in beginnings]
        while held and time.monotonic() < until:
            time.sleep(0.5)
            for connection in list(held):
                if not _is_open(connection, trickle, reads):
                    held.remove(connection)
                    answers["ended"] += 1
        answers["still open"] += len(held)
    return +answers


def _is_open(connection: socket.socket, trickle: bytes, reads: bool) -> bool:
    try:
        if trickle:
            connection.send(trickle, socket.MSG_DONTWAIT)
            if not reads:
                return True
            # An answer, or the end.
            connection.recv(_PIECE, socket.MSG_DONTWAIT)
            return False
        error = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        state = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
    except BlockingIOError:
        return True
    except OSError:
        return False
    return error == 0 and state == 1  # TCP_ESTABLISHED


@contextlib.contextmanager
def _connected(port: int, data: bytes) -> Iterator[socket.socket]:
    with contextlib.closing(socket.socket()) as connection:
        connection.settimeout(_PATIENCE_SECONDS)
        with contextlib.suppress(OSError):
            connection.connect(("127.0.0.1", port))
            connection.settimeout(5.0)
            connection.sendall(data)
        connection.settimeout(_PATIENCE_SECONDS)
        yield connection


def _status(connection: socket.socket) -> str:
    """Returns the status of an answer, or that there is none."""
    try:
        found = connection.recv(_PIECE)
    except OSError:
        return "cut off"
    return found.split()[1].decode() if found.startswith(b"HTTP/1.1 ") else "cut off"


def _post(body: bytes, *headers: str, length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    lines = [f"POST {_PREDICT} HTTP/1.1", "Host: localhost", f"Content-Length: {size}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def _bodies(bodies: Iterable[str]) -> list[bytes]:
    return [_post(body.encode()) for body in bodies]


def _text(text: str) -> str:
    return json.dumps({"instances": [text]})


def _surrogates() -> list[str]:
    return [
        place.replace("?", half)
        for half in (r"\ud800", r"\udfff", r"a\udc80b")
        for place in (
            '{"instances": ["?"]}',
            '{"?": 1, "instances": ["a"]}',
            '{"signature_name": "?", "instances": ["a"]}',
            '{"instances": [{"?": "a"}]}',
            '{"inputs": {"?": ["a"]}}',
            '{"instances": [{"text": "a", "text?": "a"}]}',
            '{"?": 1, "?": 2}',
        )
    ]


def _wrong_keys() -> list[str]:
    return [
        '{"instances": ["a"], "instances": ["b"]}',
        '{"instances": [{"text": "a", "text": "b"}]}',
        '{"instances": ["a"], "signature": "score"}',
        '{"instances": ["a"], "inputs": ["a"]}',
    ]


def _wrong_numbers() -> list[str]:
    numbers = ("NaN", "Infinity", "-Infinity", "-1", "1e400", "9" * 4000, "-" + "9" * 5000, "null")
    row = '{{"text": "a", "target_prefix": "", "max_length": {}, "length_penalty": {}}}'
    rows = [row.format(*pair) for number in numbers for pair in ((number, 1), (5, number))]
    return [f'{{"signature_name": "translate_with_options", "instances": [{row}]}}' for row in rows]


def _foreign_host(number: int) -> bytes:
    return b"GET / HTTP/1.1\r\nHost: evil-%d.example\r\n\r\n" % number


def _bomb() -> bytes:
    return _post(gzip.compress(bytes(1 << 30), 1)[: 1 << 20], "Content-Encoding: gzip")


def _random_bytes(count: int) -> Iterator[bytes]:
    chance = random.Random(0)
    for _ in range(count):
        yield chance.randbytes(chance.randrange(1, 4000)) + b"\r\n\r\n"


def _changed_requests(count: int) -> Iterator[bytes]:
    """Yields requests in which some bytes are others, complete or not."""
    chance = random.Random(1)
    for _ in range(count):
        request = bytearray(_post(_text("A man in red.").encode(), "Connection: close"))
        for _ in range(chance.randrange(1, 6)):
            request[chance.randrange(len(request))] = chance.randrange(256)
        yield bytes(request)
