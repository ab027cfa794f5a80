"""The gRPC side alone, over a real channel, with a scripted `Service` behind it."""

import asyncio
import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import struct_pb2
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    model_management_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
    regression_pb2,
)

from keras_transformer.artefact.signatures import Signature, TensorSpec
from keras_transformer.serving.errors import Code, ServingError
from keras_transformer.serving.models.versioning.versions import LoadedVersion, VersionStatus
from keras_transformer.serving.rpc.grpc_server import GrpcServer, start_grpc
from keras_transformer.serving.settings import ServeOptions

SHOUT = Signature(
    "serving_default",
    (TensorSpec("text", "string", (None,)),),
    (
        TensorSpec("translation", "string", (None,)),
        TensorSpec("score", "float32", (None,)),
    ),
)
OTHER = dataclasses.replace(SHOUT, name="other")
GRAPHS = {"family": "encoder-decoder", "target": "native"}
OPTIONS: dict[str, Any] = {"artefact": Path("nowhere"), "grpc_port": 0, "max_body_bytes": 10_000}


class ScriptedService:
    """Shouts; waits at "wait" until it is let go; refuses "refuse: CODE" with that code.

    Of the model "broken" every call fails.
    """

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.refused: list[tuple[str, Code]] = []
        self.waiting = threading.Event()
        self.cancelled = threading.Event()
        self.let_go = asyncio.Event()

    async def predict(
        self, loaded: Any, signature: Signature, inputs: dict[str, np.ndarray], **options: Any
    ) -> dict[str, np.ndarray]:
        call = {"version": loaded.number, "signature_name": signature.name, "inputs": inputs}
        self.calls.append({**call, **options})
        texts = inputs["text"].tolist()
        if texts == [b"wait"]:
            self.waiting.set()
            try:
                await self.let_go.wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
        if texts and texts[0].startswith(b"refuse: "):
            raise ServingError(Code[texts[0].decode().partition(": ")[2]], "said so")
        return {
            "translation": np.array([text.upper() for text in texts], object),
            "score": np.arange(len(texts), dtype=np.float32),
        }

    def find(self, model: str, asked: int | str | None = None) -> Any:
        if model == "broken":
            raise KeyError(model)
        if model != "shout":
            raise ServingError(Code.NOT_FOUND, f"Servable not found for request: Latest({model})")
        number = {None: 7, "stable": 5}.get(asked, asked)
        if not isinstance(number, int):
            raise ServingError(Code.NOT_FOUND, f"no label {asked}, its labels are stable")
        signatures = {"serving_default": SHOUT, "other": OTHER}
        loaded: Any = SimpleNamespace(signatures=signatures, graphs=GRAPHS)
        batcher: Any = None
        return LoadedVersion(model, number, loaded, batcher)

    def kinds(self) -> list[dict[str, Any]]:
        return [{"serving_default": SHOUT, "other": OTHER}]

    @contextlib.contextmanager
    def refusals(self, protocol: str, model: str) -> Iterator[None]:
        try:
            yield
        except ServingError as error:
            self.refused.append((protocol, error.code))
            raise
        except Exception as error:
            self.refused.append((protocol, Code.INTERNAL))
            raise ServingError(Code.INTERNAL, f"failed ({type(error).__name__})") from error

    def status(self, model: str, version: int | str | None = None) -> list[VersionStatus]:
        number = self.find(model, version).number
        found = [VersionStatus(8, "END", "a file is missing"), VersionStatus(7, "AVAILABLE")]
        return [status for status in found if version is None or status.version == number]


class Running:
    """A server in an event loop of its own thread, and stubs to call it."""

    def __init__(self) -> None:
        self.service = ScriptedService()
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._thread.start()
        self.server: GrpcServer = self.run(start_grpc(self.service, ServeOptions(**OPTIONS)))  # type: ignore[arg-type]
        self.channel = grpc.insecure_channel(f"127.0.0.1:{self.server.port}")
        self.stub = prediction_service_pb2_grpc.PredictionServiceStub(self.channel)
        self.models = model_service_pb2_grpc.ModelServiceStub(self.channel)

    def run(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(30)

    def stop(self) -> None:
        self.channel.close()
        self.run(self.server.stop(0, 0))
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


# One for all tests: gRPC's event loop lives in one thread only.
@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    running = Running()
    yield running
    running.stop()


@pytest.fixture
def predict(running: Running) -> Callable[..., predict_pb2.PredictResponse]:
    """`predict(*texts, **fields)` of the model shout."""

    def call(*texts: Any, timeout: float = 20, **fields: Any) -> predict_pb2.PredictResponse:
        return running.stub.Predict(request(*texts, **fields), timeout)

    return call


def request(*texts: Any, **fields: Any) -> predict_pb2.PredictRequest:
    message = predict_pb2.PredictRequest(**fields)
    if not fields.get("model_spec"):
        message.model_spec.name = "shout"
    message.inputs["text"].CopyFrom(tf.make_tensor_proto(list(texts), tf.string))
    return message


def assert_status(error: Any, code: str, message: str) -> None:
    assert error.value.code() is grpc.StatusCode[code]
    assert message in error.value.details()


def test_a_prediction_comes_with_the_model_that_gave_it(
    running: Running, predict: Callable[..., Any]
) -> None:
    response = predict("hello", b"\xff")
    assert tf.make_ndarray(response.outputs["translation"]).tolist() == [b"HELLO", b"\xff"]
    assert list(response.outputs["score"].float_val) == [0, 1]
    assert response.model_spec.name == "shout"
    assert response.model_spec.version.value == 7
    assert response.model_spec.signature_name == "serving_default"
    assert running.service.calls[-1]["protocol"] == "grpc"
    assert running.service.calls[-1]["version"] == 7


def test_a_batch_of_none_is_answered(predict: Callable[..., Any]) -> None:
    assert tf.make_ndarray(predict().outputs["translation"]).shape == (0,)


@pytest.mark.parametrize(
    ("asked", "number"), [({"version": {"value": 3}}, 3), ({"version_label": "stable"}, 5)]
)
def test_a_version_or_a_label_and_a_signature_may_be_asked_for(
    running: Running, predict: Callable[..., Any], asked, number
) -> None:
    response = predict("a", model_spec={"name": "shout", "signature_name": "other", **asked})
    assert response.model_spec.version.value == number
    assert running.service.calls[-1]["signature_name"] == "other"
    assert running.service.calls[-1]["version"] == number


def test_an_unknown_signature_is_refused(predict: Callable[..., Any]) -> None:
    with pytest.raises(grpc.RpcError) as error:
        predict("a", model_spec={"name": "shout", "signature_name": "whisper"})
    assert_status(error, "INVALID_ARGUMENT", '"whisper" not found in signature def')


def test_only_the_outputs_asked_for_are_sent(predict: Callable[..., Any]) -> None:
    assert set(predict("a", output_filter=["score"]).outputs) == {"score"}


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (["words"], "not found in signature: words Outputs expected to be in the set {score,tr"),
        (["score", "score"], "duplicate output tensor alias"),
    ],
)
def test_a_wrong_output_filter_is_refused(
    predict: Callable[..., Any], outputs: list[str], message: str
) -> None:
    with pytest.raises(grpc.RpcError) as error:
        predict("a", output_filter=outputs)
    assert_status(error, "INVALID_ARGUMENT", message)


@pytest.mark.parametrize("code", [code.name for code in Code])
def test_a_serving_error_is_the_status_of_the_answer(
    predict: Callable[..., Any], code: str
) -> None:
    with pytest.raises(grpc.RpcError) as error:
        predict(f"refuse: {code}")
    assert_status(error, code, "said so")


def test_an_unknown_model_is_not_found(running: Running, predict: Callable[..., Any]) -> None:
    message = "Servable not found for request: Latest(other)"
    metadata = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    metadata.model_spec.name = "other"
    status = get_model_status_pb2.GetModelStatusRequest(model_spec={"name": "other"})
    for call in (
        lambda: predict("a", model_spec={"name": "other"}),
        lambda: predict("a", model_spec={"name": "other"}, output_filter=["score"]),
        lambda: running.stub.GetModelMetadata(metadata, 20),
        lambda: running.models.GetModelStatus(status, 20),
    ):
        with pytest.raises(grpc.RpcError) as error:
            call()
        assert_status(error, "NOT_FOUND", message)


def test_an_error_that_nobody_expects_is_counted_once_as_internal(
    running: Running, predict: Callable[..., Any]
) -> None:
    spec = {"name": "broken"}
    for call in (
        lambda: predict("a", model_spec=spec),
        lambda: running.stub.GetModelMetadata(
            get_model_metadata_pb2.GetModelMetadataRequest(model_spec=spec), 20
        ),
        lambda: running.models.GetModelStatus(
            get_model_status_pb2.GetModelStatusRequest(model_spec=spec), 20
        ),
    ):
        before = len(running.service.refused)
        with pytest.raises(grpc.RpcError) as error:
            call()
        assert_status(error, "INTERNAL", "failed (KeyError)")
        assert running.service.refused[before:] == [("grpc", Code.INTERNAL)]


def test_a_request_must_name_its_model(running: Running) -> None:
    with pytest.raises(grpc.RpcError) as error:
        running.stub.Predict(predict_pb2.PredictRequest(), 20)
    assert_status(error, "INVALID_ARGUMENT", "Missing ModelSpec")


@pytest.mark.parametrize("label", ["canary", ""])
def test_an_unknown_label_is_not_found(predict: Callable[..., Any], label) -> None:
    with pytest.raises(grpc.RpcError) as error:
        predict("a", model_spec={"name": "shout", "version_label": label})
    assert_status(error, "NOT_FOUND", "its labels are stable")


def test_a_tensor_that_cannot_be_read_is_refused_by_name(running: Running) -> None:
    message = request("a")
    message.inputs["text"].tensor_shape.dim[0].size = 10**9
    with pytest.raises(grpc.RpcError) as error:
        running.stub.Predict(message, 20)
    assert_status(error, "INVALID_ARGUMENT", 'Input "text" has 1000000000 elements')
    assert running.service.refused[-1] == ("grpc", Code.INVALID_ARGUMENT)


def test_the_clients_deadline_is_the_requests(
    running: Running, predict: Callable[..., Any]
) -> None:
    predict("a", timeout=5)
    assert 4 < running.service.calls[-1]["timeout"] < 5.5  # gRPC rounds on the way.
    running.stub.Predict(request("a"))
    assert running.service.calls[-1]["timeout"] is None


@pytest.mark.parametrize("ending", ["cancel", "deadline"])
def test_a_client_that_leaves_takes_its_request_along(running: Running, ending: str) -> None:
    running.service.waiting.clear()
    running.service.cancelled.clear()
    call = running.stub.Predict.future(request("wait"), 1 if ending == "deadline" else 20)
    assert running.service.waiting.wait(10)
    if ending == "cancel":
        call.cancel()
    assert running.service.cancelled.wait(10)


def test_a_message_that_is_too_large_is_refused(predict: Callable[..., Any]) -> None:
    with pytest.raises(grpc.RpcError) as error:
        predict("a" * 20_000)
    assert_status(error, "RESOURCE_EXHAUSTED", "larger than max (20")


def test_metadata_hold_the_signatures(running: Running) -> None:
    asked = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    asked.model_spec.name = "shout"
    response = running.stub.GetModelMetadata(asked, 20)
    assert response.model_spec.name == "shout"
    assert response.model_spec.version.value == 7
    found = get_model_metadata_pb2.SignatureDefMap()
    assert response.metadata["signature_def"].Unpack(found)
    assert set(found.signature_def) == {"serving_default", "other"}
    outputs = found.signature_def["serving_default"].outputs
    assert {name: info.dtype for name, info in outputs.items()} == {
        "translation": tf.string.as_datatype_enum,
        "score": tf.float32.as_datatype_enum,
    }


def test_metadata_say_which_graphs_run(running: Running) -> None:
    fields = ["graphs", "signature_def"]
    asked = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=fields)
    asked.model_spec.name = "shout"
    response = running.stub.GetModelMetadata(asked, 20)
    assert sorted(response.metadata) == fields
    found = struct_pb2.Struct()
    assert response.metadata["graphs"].Unpack(found)
    assert dict(found) == GRAPHS


@pytest.mark.parametrize(("fields", "message"), [([], "at least one"), (["graph"], "graph is not")])
def test_other_metadata_are_refused(running: Running, fields: list[str], message: str) -> None:
    asked = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=fields)
    asked.model_spec.name = "shout"
    with pytest.raises(grpc.RpcError) as error:
        running.stub.GetModelMetadata(asked, 20)
    assert_status(error, "INVALID_ARGUMENT", message)


def test_status_says_what_became_of_each_version(running: Running) -> None:
    asked = get_model_status_pb2.GetModelStatusRequest(model_spec={"name": "shout"})
    broken, good = running.models.GetModelStatus(asked, 20).model_version_status
    states = get_model_status_pb2.ModelVersionStatus
    assert (broken.version, broken.state) == (8, states.END)
    assert broken.status.error_message == "a file is missing"
    assert broken.status.error_code != 0
    assert (good.version, good.state) == (7, states.AVAILABLE)
    assert (good.status.error_code, good.status.error_message) == (0, "")
    asked.model_spec.version.value = 7
    assert [
        one.version for one in running.models.GetModelStatus(asked, 20).model_version_status
    ] == [7]


def test_other_methods_say_that_they_are_not_served(running: Running) -> None:
    for call, message in (
        (running.stub.Classify, classification_pb2.ClassificationRequest()),
        (running.stub.Regress, regression_pb2.RegressionRequest()),
        (running.stub.MultiInference, inference_pb2.MultiInferenceRequest()),
        (running.models.HandleReloadConfigRequest, model_management_pb2.ReloadConfigRequest()),
    ):
        with pytest.raises(grpc.RpcError) as error:
            call(message, 20)
        assert_status(error, "UNIMPLEMENTED", "is not served here: Predict,")


def test_a_taken_port_is_an_error_not_a_second_server(running: Running) -> None:
    options = ServeOptions(**{**OPTIONS, "grpc_port": running.server.port})
    with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1:{running.server.port}"):
        running.run(start_grpc(running.service, options))  # type: ignore[arg-type]


@pytest.fixture
def leaving(running: Running) -> Iterator[tuple[GrpcServer, grpc.Channel]]:
    """A second server in `running`'s event loop, for a test to stop, and a channel to it."""
    server = running.run(start_grpc(running.service, ServeOptions(**OPTIONS)))  # type: ignore[arg-type]
    with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        yield server, channel
    running.run(server.stop(0, 0))


@contextlib.contextmanager
def stalled(channel: grpc.Channel) -> Iterator[grpc.Future]:
    """Opens a call, sends no message, and yields the call once the server knows of it."""
    is_over = threading.Event()

    def messages() -> Iterator[bytes]:
        is_over.wait(30)
        yield b""

    method = "/tensorflow.serving.PredictionService/Predict"
    call = channel.stream_unary(method).future(messages())
    # A call on the same connection has its answer after the server has seen this one.
    prediction_service_pb2_grpc.PredictionServiceStub(channel).Predict(request("a"), 20)
    yield call
    is_over.set()


def test_a_message_that_stalls_does_not_hold_a_server_that_stops(
    running: Running, leaving: tuple[GrpcServer, grpc.Channel]
) -> None:
    server, channel = leaving
    with stalled(channel) as call:
        began = time.monotonic()
        running.run(server.stop(20, 0.2))
        assert time.monotonic() - began < 10
        assert call.exception(10).code() is grpc.StatusCode.UNAVAILABLE


def test_what_has_arrived_is_answered_while_another_message_stalls(
    running: Running, leaving: tuple[GrpcServer, grpc.Channel]
) -> None:
    server, channel = leaving
    running.service.waiting.clear()
    with stalled(channel):
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        arrived = stub.Predict.future(request("wait"), 20)
        assert running.service.waiting.wait(20)
        stopping = asyncio.run_coroutine_threadsafe(server.stop(20, 0.1), running.loop)
        time.sleep(0.5)
        assert not stopping.done()
        running.loop.call_soon_threadsafe(running.service.let_go.set)
        answer = arrived.result(20)
        assert tf.make_ndarray(answer.outputs["translation"]).tolist() == [b"WAIT"]
        stopping.result(10)
    running.service.let_go.clear()
