"""A server that is killed, told to stop or given a broken model: nothing accepted is lost, and what
worked keeps working.
"""

import errno
import os
import shutil
import signal
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
import requests
from tensorflow_serving.apis import get_model_status_pb2, model_service_pb2_grpc

from keras_transformer.export import Manifest, OnnxTranslator
from tools.covering import some

MANIFEST = "manifest.json"


@pytest.fixture
def base(exported: Any, tmp_path: Path) -> Path:
    """A base directory whose version 1 is good."""
    shutil.copytree(exported.path, tmp_path / "base" / "1")
    return tmp_path / "base"


@pytest.fixture(scope="module")
def expected(exported: Any, texts: list[str]) -> list[str]:
    return OnnxTranslator(exported.path).translate(texts)


def states(server: Any) -> dict[str, str]:
    """Returns each version's state."""
    found = requests.get(server.model, timeout=10).json()["model_version_status"]
    return {status["version"]: status["state"] for status in found}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Blocked:
    """A version whose manifest is a pipe that nobody writes to: whoever loads it stays in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / MANIFEST).rename(path / "kept")
        os.mkfifo(path / MANIFEST)

    def is_being_loaded(self) -> bool:
        try:
            self._end = os.open(self.path / MANIFEST, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            assert error.errno == errno.ENXIO  # Nobody reads.
            return False
        return True

    def mend(self) -> None:
        os.close(self._end)
        (self.path / "kept").replace(self.path / MANIFEST)


@pytest.mark.exhaustive
def test_killed_in_the_middle_of_its_first_load_it_serves_when_started_again(
    base: Path,
    spawn_server: Callable[..., Any],
    launch: Callable[..., Any],
    wait_until: Callable[..., Any],
    texts: list[str],
    expected: list[str],
) -> None:
    port = free_port()
    version = Blocked(base / "1")
    server = spawn_server(base, f"--port={port}")
    wait_until(version.is_being_loaded, 30)
    assert server.stop(signal.SIGKILL) == -signal.SIGKILL
    version.mend()
    server = launch(base, f"--port={port}")
    assert server.address == f"127.0.0.1:{port}"
    assert server.translate(texts) == expected


def test_killed_while_a_new_version_loads_it_serves_that_when_started_again(
    base: Path,
    launch: Callable[..., Any],
    wait_until: Callable[..., Any],
    texts: list[str],
    expected: list[str],
) -> None:
    server = launch(base, "--poll-seconds=0.1")
    shutil.copytree(base / "1", base / "new")
    version = Blocked(base / "new")
    version.path = version.path.rename(base / "2")
    wait_until(version.is_being_loaded, 30)
    assert server.translate(texts) == expected
    assert states(server) == {"1": "AVAILABLE", "2": "LOADING"}
    server.stop(signal.SIGKILL)
    version.mend()
    assert states(launch(base)) == {"2": "AVAILABLE"}


@pytest.mark.parametrize("order", some(["manifest first", "manifest last"], "manifest first"))
def test_a_half_copied_version_is_taken_when_it_is_whole(
    base: Path,
    launch: Callable[..., Any],
    wait_until: Callable[..., Any],
    texts: list[str],
    expected: list[str],
    order: str,
) -> None:
    server = launch(base, "--poll-seconds=0.05")
    files = sorted((base / "1").iterdir(), key=lambda path: path.name == MANIFEST)
    if order == "manifest first":
        files.reverse()
    (base / "2").mkdir()
    for path in files:
        # The first half, then all of it, as a copy grows.
        content = path.read_bytes()
        for part in (content[: len(content) // 2], content):
            assert states(server)["1"] == "AVAILABLE"
            assert server.translate(texts) == expected
            (base / "2" / path.name).write_bytes(part)
            if (path, part) != (files[-1], content):
                wait_until(lambda: states(server).get("2") == "END", 10)
    wait_until(lambda: states(server) == {"1": "END", "2": "AVAILABLE"}, 10)
    assert server.translate(texts) == expected
    response = requests.post(
        f"{server.model}/versions/2:predict", json={"instances": texts}, timeout=30
    )
    assert response.status_code == 200


def test_a_version_that_stays_broken_is_refused_with_its_reason_and_logged_once(
    base: Path, launch: Callable[..., Any], wait_until: Callable[..., Any], texts: list[str]
) -> None:
    server = launch(base, "--poll-seconds=0.05", "--grpc-port=0")
    shutil.copytree(base / "1", base / "copy")
    weights = base / "copy" / Manifest.read(base / "copy").weights.file
    weights.write_bytes(weights.read_bytes()[:-1] + b"?")
    (base / "copy").rename(base / "2")
    wait_until(lambda: states(server).get("2") == "END", 10)
    broken, _ = requests.get(server.model, timeout=10).json()["model_version_status"]
    assert "SHA-256" in broken["status"]["error_message"]
    assert broken["status"]["error_code"] == "UNKNOWN"
    with grpc.insecure_channel(server.grpc_address) as channel:
        stub = model_service_pb2_grpc.ModelServiceStub(channel)
        request = get_model_status_pb2.GetModelStatusRequest(model_spec={"name": "demo"})
        over_grpc, good = stub.GetModelStatus(request, 10).model_version_status
    assert (over_grpc.version, good.version) == (2, 1)
    assert over_grpc.status.error_message == broken["status"]["error_message"]
    for _ in range(20):
        server.translate(texts[:1])
    assert server.output.read_text().count("SHA-256") == 1


@pytest.mark.parametrize("number", some([signal.SIGTERM, signal.SIGINT], signal.SIGTERM))
def test_told_to_stop_under_load_it_answers_everything_it_accepted(
    exported: Any,
    launch: Callable[..., Any],
    wait_until: Callable[..., Any],
    grpc_predict: Callable[..., Any],
    texts: list[str],
    number: int,
) -> None:
    options = {"min_length": 60, "max_length": 61}
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    server = launch(exported.path, "--grpc-port=0", "--max-batch=1", *flags)
    wanted = OnnxTranslator(exported.path).translate(texts, **options)
    clients = 16

    def client(place: int) -> list[str]:
        if place % 2:
            return server.translate(texts)
        answer = grpc_predict(server.grpc_address, "serving_default", {"text": texts})
        return [text.decode() for text in answer.outputs["translation"]]

    def is_accepted() -> bool:
        # One batch of one sentence may be neither waiting nor counted.
        rows = server.metric("queue_length") + server.metric("batch_size_count")
        return rows >= clients * len(texts) - 1

    with ThreadPoolExecutor(clients) as pool:
        answers = [pool.submit(client, place) for place in range(clients)]
        wait_until(is_accepted, 30)
        assert server.metric("queue_length") > len(texts)
        server.process.send_signal(number)
        assert [answer.result() for answer in answers] == [wanted] * clients
    assert server.process.wait(30) == 0, server.output.read_text()
    with pytest.raises(requests.ConnectionError):
        server.translate(texts)
    with pytest.raises(grpc.RpcError):
        grpc_predict(server.grpc_address, "serving_default", {"text": texts}, timeout=5)
