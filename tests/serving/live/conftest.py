"""Servers in processes of their own, as users start them."""

import dataclasses
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import numpy as np
import pytest
import requests
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

START_SECONDS = 120
_REST = re.compile(r"http://(127\.0\.0\.1:\d+)")
_GRPC = re.compile(r"gRPC (127\.0\.0\.1:\d+)")


@dataclasses.dataclass
class Live:
    """A server's process, its addresses and what it has printed.

    Attributes:
        process: The process.
        output: File of its standard output and error.
        address: Address of the REST side.
        grpc_address: Address of the gRPC side; "" where there is none.
    """

    process: subprocess.Popen[bytes]
    output: Path
    address: str = ""
    grpc_address: str = ""

    @property
    def root(self) -> str:
        """URL of the REST side."""
        return f"http://{self.address}"

    @property
    def model(self) -> str:
        """URL of the model `demo`."""
        return f"{self.root}/v1/models/demo"

    def translate(self, texts: list[str], timeout: float = 60) -> list[str]:
        """Returns the translations, over REST."""
        response = requests.post(
            f"{self.model}:predict", json={"instances": texts}, timeout=timeout
        )
        assert response.status_code == 200, response.text
        return [prediction["translation"] for prediction in response.json()["predictions"]]

    def metric(self, name: str) -> float:
        """Returns the sum of a metric over all its labels."""
        text = requests.get(f"{self.root}/metrics", timeout=10).text
        pattern = rf"^keras_transformer_{name}(?:\{{.*\}})? (\S+)$"
        return sum(map(float, re.findall(pattern, text, re.MULTILINE)))

    def wait_until_ready(self) -> "Live":
        """Waits for the line that names the addresses."""
        until(self._is_ready, START_SECONDS, self.output.read_text)
        return self

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Sends a signal and returns the exit code."""
        self.process.send_signal(number)
        return self.process.wait(60)

    def _is_ready(self) -> bool:
        assert self.process.poll() is None, self.output.read_text()
        lines = self.output.read_text().splitlines()
        found = [line for line in lines if line.startswith("serving ")]
        if found:
            self.address = _REST.findall(found[0])[0]
            self.grpc_address = "".join(_GRPC.findall(found[0]))
        return bool(found)


def until(condition: Callable[[], Any], seconds: float, explain: Callable[[], str] = str) -> Any:
    """Waits for something to be true and returns it."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"not within {seconds} s: {explain()}"
        time.sleep(0.02)
    return found


@pytest.fixture(scope="session")
def wait_until() -> Callable[..., Any]:
    """`wait_until(condition, seconds)` returns what the condition returns once it is true."""
    return until


@pytest.fixture(scope="module")
def spawn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Live]]:
    """`spawn(*command)` starts a process that may never be ready.

    All end with the module, and none may have failed at anything without saying so to its client.
    """
    started: list[Live] = []
    directory = tmp_path_factory.mktemp("servers")

    def start(*command: object) -> Live:
        output = directory / f"{len(started)}.txt"
        with output.open("wb") as stream:
            process = subprocess.Popen(
                [sys.executable, *map(str, command)],
                stdout=stream,
                stderr=subprocess.STDOUT,
                env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
            )
        started.append(Live(process, output))
        return started[-1]

    yield start
    for live in started:
        live.process.kill()
        live.process.wait()
    for live in started:
        assert "Traceback" not in live.output.read_text()


@pytest.fixture(scope="module")
def spawn_server(spawn: Callable[..., Live]) -> Callable[..., Live]:
    """`spawn_server(directory, *flags)`: `keras-transformer serve`, its model called demo."""

    def start(directory: Path, *flags: object) -> Live:
        command = ("-m", "keras_transformer", "serve", directory, "--model-name", "demo")
        return spawn(*command, "--port", 0, *flags)

    return start


@pytest.fixture(scope="module")
def launch(spawn_server: Callable[..., Live]) -> Callable[..., Live]:
    """As `spawn_server`, and waits until it serves.

    Texts are translated whole, unless the flags say otherwise, so that answers can be compared with
    those of a bare translator or a SavedModel.
    """

    def start(directory: Path, *flags: object) -> Live:
        return spawn_server(directory, "--long-texts=refuse", *flags).wait_until_ready()

    return start


class Answer(NamedTuple):
    """What the gRPC side gave, as the official client reads it."""

    version: int
    outputs: dict[str, np.ndarray]


@pytest.fixture(scope="session")
def grpc_predict() -> Callable[..., Answer]:
    """`grpc_predict(address, signature, inputs, timeout=60)` with the stubs of TensorFlow Serving.

    `inputs` are arrays by name; a refusal is raised as `grpc.RpcError`.
    """

    def predict(
        address: str, signature: str, inputs: dict[str, Any], timeout: float = 60
    ) -> Answer:
        with grpc.insecure_channel(address) as channel:
            stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
            request = predict_pb2.PredictRequest()
            request.model_spec.name = "demo"
            request.model_spec.signature_name = signature
            for name, values in inputs.items():
                request.inputs[name].CopyFrom(tf.make_tensor_proto(values))
            result = stub.Predict(request, timeout)
        outputs = {name: tf.make_ndarray(proto) for name, proto in result.outputs.items()}
        return Answer(result.model_spec.version.value, outputs)

    return predict
