"""Many clients in one process: each keeps a connection, sends its own sentences one after the other
and checks that every answer is the translation of the very sentence it sent.
"""

import asyncio
import itertools
import json
import resource
import time
from collections.abc import Iterator, Sequence
from typing import Any

import uvloop
from speed.serving import serve

# Whoever is not answered this long after the end is lost.
_PATIENCE_SECONDS = 30.0


class Client(asyncio.Protocol):
    """One client: sends the next request as soon as the last one is answered.

    A bare protocol on keep-alive HTTP/1.1, because clients share the cores with the server: what
    they take, it lacks.

    Args:
        requests: Endless pairs of a request's bytes and the translation that must come back.
        end: When the last request may be sent, by `time.perf_counter`.

    Attributes:
        latencies: Seconds of each right answer.
        lost: Requests without an answer, or with an error.
        wrong: Requests answered with another translation.
        complaint: What the first lost or wrong one was; "" if there is none.
        done: Completed when the client has its last answer.
    """

    def __init__(self, requests: Iterator[tuple[bytes, str]], end: float) -> None:
        self._requests = requests
        self._end = end
        self._received = b""
        self._waiting = False
        self.latencies: list[float] = []
        self.lost = self.wrong = 0
        self.complaint = ""
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        """Sends the first request."""
        self._transport = transport
        self._send()

    def data_received(self, data: bytes) -> None:
        """Checks an answer once it is whole, and sends the next request."""
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        if not found or len(body) < _content_length(head):
            return
        seconds = time.perf_counter() - self._sent_at
        self._received, self._waiting = b"", False
        status = int(head.split(b" ", 2)[1])
        if status != 200:
            self.lost += 1
            self._complain(f"status {status}: {body[:200]!r}")
        elif (translation := _translation(body)) != self._expected:
            self.wrong += 1
            self._complain(f"expected {self._expected!r}, got {translation!r}")
        else:
            self.latencies.append(seconds)
        self._send()

    def connection_lost(self, error: Exception | None) -> None:
        """Counts the request that is still open as lost."""
        self.stop(f"the connection was closed: {error}")

    def stop(self, reason: str) -> None:
        """Ends the client; a request without an answer is lost."""
        if self._waiting:
            self.lost += 1
            self._waiting = False
            self._complain(reason)
        if not self.done.done():
            self.done.set_result(None)
        self._transport.close()

    def _send(self) -> None:
        if time.perf_counter() >= self._end:
            self.stop("")
            return
        request, self._expected = next(self._requests)
        self._waiting = True
        self._sent_at = time.perf_counter()
        self._transport.write(request)

    def _complain(self, text: str) -> None:
        self.complaint = self.complaint or text


class LoadClients:
    """What the benchmark asks of the clients' process."""

    def drive(
        self,
        port: int,
        path: str,
        sentences: Sequence[str],
        expected: Sequence[str],
        clients: int,
        seconds: float,
    ) -> dict[str, Any]:
        """Drives a server on the loopback interface.

        Args:
            port: Its port.
            path: Path of its predict call.
            sentences: What is sent, at least one for each client. No two clients share one, so that
                an answer that went to the wrong client is seen.
            expected: Their translations.
            clients: Number of clients.
            seconds: How long requests are sent.

        Returns:
            "latencies" (seconds of each right answer), "seconds" (until the last answer), "lost",
            "wrong", "complaints" and "client_cores" (processor time of the clients a second).
        """
        return uvloop.run(_drive(port, path, sentences, expected, clients, seconds))


async def _drive(
    port: int,
    path: str,
    sentences: Sequence[str],
    expected: Sequence[str],
    clients: int,
    seconds: float,
) -> dict[str, Any]:
    pairs = list(zip((_request(path, text) for text in sentences), expected, strict=True))
    before, start = _processor_seconds(), time.perf_counter()
    loop = asyncio.get_running_loop()
    running = []
    for number in range(clients):
        client = Client(itertools.cycle(pairs[number::clients]), start + seconds)
        await loop.create_connection(lambda client=client: client, "127.0.0.1", port)
        running.append(client)
    await asyncio.wait([client.done for client in running], timeout=seconds + _PATIENCE_SECONDS)
    for client in running:
        client.stop(f"no answer within {_PATIENCE_SECONDS:.0f} seconds")
    taken = time.perf_counter() - start
    return {
        "latencies": [latency for client in running for latency in client.latencies],
        "seconds": taken,
        "lost": sum(client.lost for client in running),
        "wrong": sum(client.wrong for client in running),
        "complaints": [client.complaint for client in running if client.complaint],
        "client_cores": (_processor_seconds() - before) / taken,
    }


def _request(path: str, text: str) -> bytes:
    body = json.dumps({"instances": [text]}).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    raise ValueError(f"an answer has no Content-Length: {head!r}")


def _translation(body: bytes) -> str:
    [prediction] = json.loads(body)["predictions"]
    return prediction if isinstance(prediction, str) else prediction["translation"]


def _processor_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    serve(LoadClients())
