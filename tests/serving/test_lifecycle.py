"""A server under trouble: more requests than it can take, clients that leave or have no time, new
versions, and its own end.
"""

import contextlib
import http.client
import json
import shutil
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests

from keras_transformer.search.options import SearchOptions
from keras_transformer.serving import server as server_file
from keras_transformer.serving.models import batching, service
from keras_transformer.serving.models import model as model_file

TEXT = "the red dog runs to the house"


class Gate:
    """Holds the model up until it is opened."""

    def __init__(self) -> None:
        self.is_open = threading.Event()
        self.waiting = 0

    def pass_through(self) -> None:
        self.waiting += 1
        assert self.is_open.wait(30)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    """Stands before every batch of translations, one at a time; open while a model warms up."""
    monkeypatch.setattr(service, "_MAX_RUNNING", 1)
    gate = Gate()
    translate, warm_up = model_file.ServedModel._translate, model_file.ServedModel.warm_up

    def held(self: Any, rows: Any) -> Any:
        if getattr(self, "is_warm", False):
            gate.pass_through()
        return translate(self, rows)

    def warmed(self: Any) -> None:
        warm_up(self)
        self.is_warm = True

    monkeypatch.setattr(model_file.ServedModel, "_translate", held)
    monkeypatch.setattr(model_file.ServedModel, "warm_up", warmed)
    return gate


def until(condition: Callable[[], Any], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def send(server: Any, text: str = TEXT) -> http.client.HTTPConnection:
    """Sends a request and does not wait for the answer."""
    connection = http.client.HTTPConnection(server.rest_url.removeprefix("http://"), timeout=30)
    body = json.dumps({"instances": [text]})
    connection.request("POST", "/v1/models/demo:predict", body)
    return connection


def answer(connection: http.client.HTTPConnection) -> int:
    """Waits for the answer and returns its status."""
    with contextlib.closing(connection), connection.getresponse() as response:
        assert json.loads(response.read())
        return response.status


def test_a_full_queue_answers_429_and_recovers(start, exported, gate) -> None:
    server = start(exported.path, max_queue=2, max_sentences=2)
    busy = send(server)
    until(lambda: gate.waiting)
    waiting = [send(server), send(server)]
    until(lambda: server.metric("keras_transformer_queue_length") == 2)
    refused = server.predict({"instances": [TEXT]})
    assert refused.status_code == 429
    assert refused.headers["retry-after"] == "1"
    assert "2 sentences are waiting, and the limit is 2" in refused.json()["error"]
    gate.is_open.set()
    assert [answer(connection) for connection in (busy, *waiting)] == [200] * 3
    assert server.predict({"instances": [TEXT]}).status_code == 200


@pytest.mark.parametrize("by_header", [True, False], ids=["header", "option"])
def test_a_request_without_time_left_is_given_up(start, exported, gate, by_header) -> None:
    server = start(exported.path, request_timeout=30 if by_header else 0.1)
    headers = {"x-request-timeout": "0.1"} if by_header else {}
    body = {"instances": [TEXT]}
    for _ in range(2):  # Once in the model's hands, once in the queue.
        response = server.predict(body, headers=headers)
        assert response.status_code == 504
        assert "time was over" in response.json()["error"]
    assert server.metric("keras_transformer_queue_length") == 0
    gate.is_open.set()
    response = server.predict(body, headers={"x-request-timeout": "20"} if by_header else {})
    assert response.status_code == 200 or not by_header


def test_a_slow_request_after_a_quick_one_holds_up_neither_others_nor_its_own_end(
    start, exported, gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batching, "_QUICK_SECONDS", 20.0)
    server = start(exported.path)

    def ask(max_length: int, seconds: str) -> int:
        row = {"text": TEXT, "target_prefix": "", "length_penalty": 0.6, "max_length": max_length}
        body = {"signature_name": "translate_with_options", "instances": [row]}
        return server.predict(body, headers={"x-request-timeout": seconds}).status_code

    gate.is_open.set()
    assert [ask(2, "20") for _ in range(3)] == [200] * 3
    gate.is_open.clear()
    assert ask(40, "0.1") == 504
    assert requests.get(f"{server.rest_url}/healthz", timeout=5).ok
    gate.is_open.set()


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "soon", ""])
def test_a_time_limit_must_be_a_number_above_0(server, seconds) -> None:
    response = server.predict({"instances": ["a"]}, headers={"x-request-timeout": seconds})
    assert response.status_code == 400
    assert "x-request-timeout must be seconds above 0" in response.json()["error"]


def test_a_client_that_hangs_up_takes_its_request_along(start, exported, gate) -> None:
    server = start(exported.path)
    busy, leaving, staying = send(server), send(server), send(server, "hello")
    until(lambda: server.metric("keras_transformer_queue_length") == 2)
    leaving.close()
    until(lambda: server.metric("keras_transformer_queue_length") == 1)
    assert server.metric("keras_transformer_requests_total", code="CANCELLED") == 1
    gate.is_open.set()
    assert [answer(connection) for connection in (busy, staying)] == [200] * 2


def test_a_body_over_the_limit_is_refused_and_the_connection_goes_on(start, exported) -> None:
    server = start(exported.path, max_body_bytes=1000)
    with requests.Session() as session:
        large = session.post(f"{server.model_url}:predict", data=b"a" * 5_000_000, timeout=60)
        assert large.status_code == 413
        assert "5000000 bytes, more than the limit of 1000" in large.json()["error"]
        body = {"instances": ["hello"]}
        assert session.post(f"{server.model_url}:predict", json=body, timeout=60).ok


def test_a_new_version_takes_over_under_load_without_a_lost_request(
    start, exported, tmp_path: Path
) -> None:
    shutil.copytree(exported.path, tmp_path / "1")
    server = start(tmp_path)
    is_over = threading.Event()

    def ask() -> set[str]:
        found = set()
        with requests.Session() as session:
            while not is_over.is_set():
                response = session.post(
                    f"{server.model_url}:predict", json={"instances": [TEXT]}, timeout=60
                )
                assert response.status_code == 200, response.text
                found.add(response.json()["predictions"][0]["translation"])
        return found

    with ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(ask) for _ in range(4)]
        half = tmp_path / "2"
        half.mkdir()
        shutil.copy(exported.path / "manifest.json", half)
        until(lambda: "END" in server.get("/versions/2").text)
        status = server.get("/versions/2").json()["model_version_status"][0]["status"]
        assert "is missing" in status["error_message"]
        assert server.get("/versions/1").json()["model_version_status"][0]["state"] == "AVAILABLE"
        shutil.copytree(exported.path, half, dirs_exist_ok=True)
        until(lambda: "AVAILABLE" in server.get("/versions/2").text)
        until(lambda: "END" in server.get("/versions/1").text)
        is_over.set()
        assert len(set.union(*(task.result(60) for task in asking))) == 1
    assert server.predict({"instances": [TEXT]}, "/versions/1:predict").status_code == 404
    assert server.predict({"instances": [TEXT]}, "/versions/2:predict").ok


def test_a_server_that_stops_answers_what_it_has_accepted(
    start, exported, gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_file, "_PARTING_SECONDS", 0.5)
    server = start(exported.path)
    accepted = [send(server) for _ in range(5)]
    until(lambda: server.metric("keras_transformer_queue_length") == 4)
    with requests.Session() as session:
        assert session.get(f"{server.rest_url}/readyz", timeout=60).status_code == 200
        server.begin_to_stop()
        # The connection is open: its client is told that this answer was the last.
        until(lambda: session.get(f"{server.rest_url}/readyz", timeout=60).status_code == 503)
    with pytest.raises(requests.ConnectionError):
        requests.get(f"{server.rest_url}/healthz", timeout=60)
    gate.is_open.set()
    assert [answer(connection) for connection in accepted] == [200] * 5
    server.stop()


def test_a_server_that_stops_waits_no_longer_than_it_was_told(start, exported, gate) -> None:
    server = start(exported.path, drain_seconds=0.5)
    stuck = send(server)
    until(lambda: gate.waiting)
    started = time.monotonic()
    server.begin_to_stop()
    server.thread.join(10)
    is_over = not server.thread.is_alive()
    gate.is_open.set()
    assert is_over and time.monotonic() - started < 10
    stuck.close()


def test_a_request_that_is_cut_off_at_the_end_is_told_so_in_json(start, exported, gate) -> None:
    server = start(exported.path, drain_seconds=0.5)
    stuck = send(server)
    until(lambda: gate.waiting)
    server.begin_to_stop()
    with contextlib.closing(stuck), stuck.getresponse() as response:
        assert response.status == 503
        assert "the server is shutting down" in json.loads(response.read())["error"]
    gate.is_open.set()


def stalled(server: Any) -> http.client.HTTPConnection:
    """Sends the head of a request and the first byte of its body, and waits until both are read."""
    connection = http.client.HTTPConnection(server.rest_url.removeprefix("http://"), timeout=30)
    connection.putrequest("POST", "/v1/models/demo:predict")
    connection.putheader("Content-Length", "100")
    connection.putheader("Expect", "100-continue")
    connection.endheaders()
    # The server asks for the body when something waits for it.
    assert connection.sock.recv(100).startswith(b"HTTP/1.1 100 Continue")
    connection.send(b"{")
    return connection


def test_a_body_that_stalls_is_timed_out_and_its_connection_ends(start, exported) -> None:
    server = start(exported.path, request_timeout=0.3)
    connection = stalled(server)
    with contextlib.closing(connection), connection.getresponse() as response:
        assert response.status == 408
        assert response.getheader("Connection") == "close"
        assert "did not arrive in time" in json.loads(response.read())["error"]
    assert server.metric("keras_transformer_requests_total", code="DEADLINE_EXCEEDED") == 1


def test_a_body_that_stalls_does_not_hold_a_server_that_stops(start, exported) -> None:
    server = start(exported.path, request_timeout=300, drain_seconds=300)
    connection = stalled(server)
    server.begin_to_stop()
    with contextlib.closing(connection), connection.getresponse() as response:
        assert response.status == 408
        assert "did not arrive in time" in json.loads(response.read())["error"]
    server.thread.join(20)
    assert not server.thread.is_alive()


def test_a_directory_with_nothing_to_serve_ends_the_server(start, tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "saved_model.pb").touch()
    with pytest.raises(ValueError, match=r"version 1: .*manifest\.json.* is a SavedModel"):
        start(tmp_path)


def test_sampling_is_not_served(start, exported) -> None:
    with pytest.raises(ValueError, match="sample=True cannot be set"):
        start(exported.path, SearchOptions(sample=True))


def test_a_port_in_use_is_named(start, exported) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1:{port}"):
            start(exported.path, port=port)


def test_a_grpc_port_in_use_is_named_before_anything_is_loaded(
    start, exported, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_file.ServedModel, "__init__", None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        message = rf"cannot listen on 127.0.0.1:{port} \(--grpc-port\): Address already in use"
        with pytest.raises(OSError, match=message):
            start(exported.path, grpc_port=port)
