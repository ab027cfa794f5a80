"""Two versions served at once, asked for by label; an answer comes from one of them."""

import json
import os
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import grpc
import pytest
import requests
from tensorflow_serving.apis import (
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from keras_transformer.search.options import SearchOptions
from keras_transformer.serving.models.model import ServedModel
from keras_transformer.serving.models.versioning.versions import Versions

LABELS = ("stable=1", "canary=2")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The directories of the versions that have translated."""
    found: list[str] = []
    opened: dict[int, str] = {}
    init, search = ServedModel.__init__, ServedModel._search

    def named(self: Any, directory: "str | os.PathLike[str]", *given: Any, **options: Any) -> None:
        opened[id(self)] = Path(directory).name
        init(self, directory, *given, **options)

    def noted(self: Any, *given: Any) -> Any:
        found.append(opened[id(self)])
        return search(self, *given)

    monkeypatch.setattr(ServedModel, "__init__", named)
    monkeypatch.setattr(ServedModel, "_search", noted)
    return found


@pytest.fixture
def base(exported: Any, tmp_path: Path) -> Path:
    """A directory with the versions 1 and 2."""
    for number in (1, 2):
        shutil.copytree(exported.path, tmp_path / str(number))
    return tmp_path


@pytest.mark.parametrize(
    ("path", "number"),
    [("/labels/stable", "1"), ("/labels/canary", "2"), ("/versions/1", "1"), ("", "2")],
)
def test_every_path_has_labels_and_versions(start, base, asked, path, number) -> None:
    server = start(base, version_labels=LABELS)
    metadata = server.get(f"{path}/metadata").json()
    assert metadata["model_spec"]["version"] == number
    asked.clear()
    assert server.predict({"instances": ["hello"]}, f"{path}:predict").status_code == 200
    assert server.predict({"text": "hello"}, f"{path}:explain").status_code == 200
    assert asked == [number] * 2
    assert b"event: done" in server.predict({"text": "hello"}, f"{path}:stream").content
    if path:
        [status] = server.get(path).json()["model_version_status"]
        assert (status["version"], status["state"]) == (number, "AVAILABLE")


@pytest.mark.parametrize("verb", ["", "/metadata", ":predict", ":explain", ":stream"])
def test_an_unknown_label_is_a_404_that_names_the_labels(start, base, verb) -> None:
    server = start(base, version_labels=LABELS)
    body = {"instances": ["hello"]} if verb == ":predict" else {"text": "hello"}
    path = f"/labels/next{verb}"
    response = server.predict(body, path) if verb.startswith(":") else server.get(path)
    assert response.status_code == 404
    assert "has no 'next', its labels are canary, stable" in response.json()["error"]


def test_the_description_names_the_labels(start, base) -> None:
    server = start(base, version_labels=LABELS)
    described = requests.get(f"{server.rest_url}/openapi.json", timeout=60).json()
    label = described["components"]["parameters"]["label"]
    assert label["schema"]["enum"] == ["canary", "stable"]
    assert "/v1/models/{model}/labels/{label}:predict" in described["paths"]


@pytest.mark.parametrize(
    ("verb", "body"),
    [
        (":predict", {"instances": ["hello"]}),
        (":explain", {"text": "hello"}),
        (":stream", {"text": "hello"}),
    ],
)
def test_a_request_chooses_its_version_once(
    start, base, monkeypatch: pytest.MonkeyPatch, verb: str, body: dict[str, Any]
) -> None:
    """Between two choices a new version might come, and an answer be of both."""
    server = start(base, version_labels=LABELS, grpc_port=0)
    chosen: list[Any] = []
    get = Versions.get

    def noted(self: Versions, asked: Any) -> Any:
        chosen.append(asked)
        return get(self, asked)

    monkeypatch.setattr(Versions, "get", noted)
    assert server.predict(body, f"/labels/stable{verb}").status_code == 200
    assert chosen == ["stable"]
    if verb == ":predict":
        request = predict_pb2.PredictRequest()
        request.model_spec.name, request.model_spec.version_label = "demo", "canary"
        request.inputs["text"].dtype = 7
        request.inputs["text"].string_val.append(b"hello")
        request.inputs["text"].tensor_shape.dim.add().size = 1
        with grpc.insecure_channel(server.line.rpartition("gRPC ")[2]) as channel:
            stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
            assert stub.Predict(request, 60).model_spec.version.value == 2
        assert chosen == ["stable", "canary"]


def test_grpc_knows_the_labels(start, base) -> None:
    server = start(base, version_labels=LABELS, grpc_port=0)
    address = server.line.rpartition("gRPC ")[2]
    request = get_model_status_pb2.GetModelStatusRequest()
    request.model_spec.name, request.model_spec.version_label = "demo", "stable"
    with grpc.insecure_channel(address) as channel:
        stub = model_service_pb2_grpc.ModelServiceStub(channel)
        [status] = stub.GetModelStatus(request, 60).model_version_status
        assert status.version == 1
        request.model_spec.version_label = "next"
        with pytest.raises(grpc.RpcError, match="its labels are canary, stable") as error:
            stub.GetModelStatus(request, 60)
    assert error.value.code() is grpc.StatusCode.NOT_FOUND


def test_the_line_names_all_versions(start, base) -> None:
    assert start(base, versions="all").line.startswith("serving demo versions 1, 2: REST http")


def test_a_label_of_no_version_ends_the_server(start, base) -> None:
    with pytest.raises(ValueError, match="demo: the label 'next' names version 3"):
        start(base, version_labels=("next=3",))


def test_a_stream_ends_with_the_version_that_it_began_with(
    start, exported, tmp_path: Path, asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(exported.path, tmp_path / "1")
    is_exchanged = threading.Event()
    stream = ServedModel.stream

    streaming: list[ServedModel] = []

    def held(self: Any, row: Any, emit: Any) -> None:
        stream(self, row, emit)
        streaming.append(self)
        # The new version streams, too, when it is tried.
        assert self is not streaming[0] or is_exchanged.wait(30)

    server = start(tmp_path, SearchOptions(max_length=40, beam_size=2))
    monkeypatch.setattr(ServedModel, "stream", held)
    found: list[bytes] = []
    body = {"text": "the red dog runs to the house"}
    asking = threading.Thread(target=lambda: found.append(server.predict(body, ":stream").content))
    asking.start()
    until_busy = time.monotonic() + 20
    while not streaming:
        assert time.monotonic() < until_busy
        time.sleep(0.01)
    shutil.copytree(exported.path, tmp_path / "2.new")
    (tmp_path / "2.new").rename(tmp_path / "2")
    while "AVAILABLE" not in server.get("/versions/2").text:
        assert time.monotonic() < until_busy
        time.sleep(0.01)
    asked.clear()
    is_exchanged.set()
    asking.join(30)
    assert asked == ["1"]
    last = found[0].decode().strip().rpartition("\n\n")[2]
    assert last.startswith("event: done") and json.loads(last.partition("data: ")[2])
