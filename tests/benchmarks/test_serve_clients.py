"""The load benchmark's clients: every fault of a server is seen and counted."""

import itertools
import json
import socketserver
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from load.clients import LoadClients

SENTENCES = ["one", "two", "three", "four"]
TRANSLATIONS = [sentence.upper() for sentence in SENTENCES]
Answer = Callable[[str], bytes | None]


def response(status: int, body: Any) -> bytes:
    content = json.dumps(body).encode()
    return f"HTTP/1.1 {status} X\r\ncontent-length: {len(content)}\r\n\r\n".encode() + content


def right(text: str) -> bytes:
    return response(200, {"predictions": [text.upper()]})


class Handler(socketserver.StreamRequestHandler):
    """Serves one connection until either side closes it."""

    def handle(self) -> None:
        while head := self.read_head():
            length = int(head[b"content-length"])
            [text] = json.loads(self.rfile.read(length))["instances"]
            self.server.seen.append((self.client_address, text))
            answer = self.server.answer(text)
            if answer is None:
                return
            # In two parts: clients must wait for the whole.
            self.wfile.write(answer[:10])
            self.wfile.flush()
            self.wfile.write(answer[10:])

    def read_head(self) -> dict[bytes, bytes]:
        lines = iter(self.rfile.readline, b"")
        pairs = (line.partition(b":") for line in itertools.takewhile(b"\r\n".__ne__, lines))
        return {name.lower(): value.strip() for name, _, value in pairs}


class ScriptedServer(socketserver.ThreadingTCPServer):
    """Answers with what a function returns; None closes the connection."""

    answer: Answer = staticmethod(right)

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.port = self.server_address[1]
        self.seen: list[tuple[Any, str]] = []


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def drive(server: ScriptedServer, clients: int = 2) -> dict[str, Any]:
    return LoadClients().drive(server.port, "/predict", SENTENCES, TRANSLATIONS, clients, 0.3)


def test_each_client_sends_its_own_sentences_over_one_connection(server: ScriptedServer) -> None:
    found = drive(server)
    assert found["lost"] == found["wrong"] == 0
    assert len(found["latencies"]) == len(server.seen) > 10
    assert found["seconds"] == pytest.approx(0.3, abs=0.25)
    by_peer: dict[Any, set[str]] = {}
    for peer, text in server.seen:
        by_peer.setdefault(peer, set()).add(text)
    assert sorted(map(sorted, by_peer.values())) == [["four", "two"], ["one", "three"]]


def test_translations_with_scores_are_understood(server: ScriptedServer) -> None:
    server.answer = lambda text: response(
        200, {"predictions": [{"translation": text.upper(), "score": -0.5}]}
    )
    found = drive(server)
    assert found["wrong"] == 0
    assert found["latencies"]


def test_another_sentences_translation_is_wrong(server: ScriptedServer) -> None:
    server.answer = lambda text: right("three" if text == "one" else text)
    found = drive(server)
    assert found["wrong"] == sum(text == "one" for _, text in server.seen)
    assert found["complaints"] == ["expected 'ONE', got 'THREE'"]


def test_an_error_is_a_lost_request(server: ScriptedServer) -> None:
    server.answer = lambda text: response(429, {"error": "busy"}) if text == "two" else right(text)
    found = drive(server)
    assert found["lost"] == sum(text == "two" for _, text in server.seen)
    assert found["wrong"] == 0
    assert found["complaints"] == ['status 429: b\'{"error": "busy"}\'']


def test_a_closed_connection_loses_its_request(server: ScriptedServer) -> None:
    server.answer = lambda text: None if text == "two" else right(text)
    found = drive(server)
    assert (found["lost"], found["wrong"]) == (1, 0)
    assert "connection was closed" in found["complaints"][0]
