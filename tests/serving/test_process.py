"""The server as a process of its own, as users start it: one line, one log, exit code 0."""

import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import requests

from tools.covering import some


# gRPC's packages may not write into the log: every line of it is JSON.
@pytest.mark.parametrize(
    ("number", "flags"),
    [
        (signal.SIGTERM, ["--grpc-port", "0"]),
        pytest.param(signal.SIGINT, [], marks=pytest.mark.exhaustive),
        pytest.param(signal.SIGHUP, [], marks=pytest.mark.exhaustive),
    ],
)
def test_a_process_serves_and_ends_well_and_its_log_holds_no_text(
    exported: Any, tmp_path: Path, number, flags
) -> None:
    if signal.getsignal(number) == signal.SIG_IGN:
        pytest.skip("the tests were started with this signal ignored, as by nohup")
    module = ["-m", "keras_transformer"]
    command = [sys.executable, *module, "serve", str(exported.path), "--port", "0", *flags]
    log = tmp_path / "log"
    with (
        log.open("w") as stream,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stream, text=True) as process,
    ):
        assert process.stdout is not None
        line = process.stdout.readline()
        pattern = r"serving artefact version 1: REST (http://127\.0\.0\.1:\d+)(, gRPC \S+)?\n"
        found = re.fullmatch(pattern, line)
        assert found, line + log.read_text()
        response = requests.post(
            f"{found[1]}/v1/models/artefact:predict",
            json={"instances": ["the red dog"]},
            timeout=60,
        )
        assert response.status_code == 200
        process.send_signal(number)
        assert process.wait(60) == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    [request] = [line for line in lines if "request" in line]
    assert (request["code"], request["sentences"], request["batch"]) == ("OK", 1, 1)
    assert {"time", "protocol", "signature", "queue_ms", "total_ms"} < set(request)
    assert "red" not in log.read_text()


def test_half_sent_requests_give_way_where_few_files_may_be_open(
    exported: Any, tmp_path: Path
) -> None:
    serve = f"exec {sys.executable} -m keras_transformer serve {exported.path} --port 0"
    command = ["bash", "-c", f"ulimit -n 64; {serve} --model-name demo"]
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            [(host, port)] = re.findall(r"http://([\d.]+):(\d+)", process.stdout.readline())
            half_sent = [socket.create_connection((host, int(port))) for _ in range(100)]
            for connection in half_sent:
                with suppress(ConnectionError):
                    connection.sendall(b"GET /healthz HTTP/1.1\r\n")
            time.sleep(0.5)
            for _ in range(20):
                url = f"http://{host}:{port}/v1/models/demo:predict"
                body = {"instances": ["the red dog"]}
                assert requests.post(url, json=body, timeout=5).status_code == 200
            for connection in half_sent:
                connection.close()
        finally:
            process.terminate()
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    [told] = [line for line in lines if line.get("event") == "too many open files"]
    assert "ulimit -n" in told["action"]


TROUBLES = ("its reader is gone", "its disk is full", "it is closed")


@pytest.mark.parametrize("trouble", some(TROUBLES, "its reader is gone"))
def test_a_server_whose_log_breaks_goes_on_and_finishes_what_it_has_accepted(
    exported: Any, tmp_path: Path, trouble: str
) -> None:
    shutil.copytree(exported.path, tmp_path / "1")
    with serving_without_a_log(tmp_path, trouble) as (process, address):
        shutil.copytree(exported.path, tmp_path / ".2")
        (tmp_path / ".2").rename(tmp_path / "2")
        until(lambda: "AVAILABLE" in get(f"{address}/v1/models/demo/versions/2"))
        [lost] = re.findall(r"log_lines_lost_total (\d+)", get(f"{address}/metrics"))
        assert (int(lost) > 0) == (trouble != "it is closed")
        body = {"instances": ["the red dog runs"] * 100}
        with ThreadPoolExecutor(1) as pool:
            url = f"{address}/v1/models/demo:predict"
            accepted = pool.submit(requests.post, url, json=body, timeout=60)
            until(lambda: re.search(r"batch_size_count\S* [1-9]", get(f"{address}/metrics")))
            process.send_signal(signal.SIGTERM)
            assert accepted.result().status_code == 200
        assert process.wait(60) == 0


@contextmanager
def serving_without_a_log(
    directory: Path, trouble: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Runs a slow server whose log has this trouble; gives its process and its address."""
    log = {"its disk is full": "2> /dev/full", "it is closed": "2>&-"}.get(trouble, "")
    serve = f"exec {sys.executable} -m keras_transformer serve {directory} --model-name demo"
    options = "--port 0 --poll-seconds 0.1 --max-length 300 --min-length 299"
    command = ["bash", "-c", f"{serve} {options} {log}"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout is not None and process.stderr is not None
            [address] = re.findall(r"http://[\d.:]+", process.stdout.readline())
            process.stderr.close()
            yield process, address
        finally:
            process.kill()


def get(url: str) -> str:
    return requests.get(url, timeout=60).text


def until(condition: Callable[[], Any], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
