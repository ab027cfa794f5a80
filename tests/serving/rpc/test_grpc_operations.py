"""gRPC's health, reflection and API keys, asked with the stubs that tools ask with."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from tensorflow_serving.apis import get_model_status_pb2, model_service_pb2_grpc

from keras_transformer.serving import server as server_file
from keras_transformer.serving.rpc import grpc_operations

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
PREDICTION = "tensorflow.serving.PredictionService"
KEY = (("authorization", "Bearer secret"),)


@pytest.fixture
def serve(
    exported: Any, start: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Any]]:
    """`serve(**options)`: a server that tells who watches of its end, and a channel to its gRPC
    side.
    """
    monkeypatch.setattr(server_file, "_PARTING_SECONDS", 0.5)
    channels: list[grpc.Channel] = []

    def begin(**options: Any) -> tuple[Any, grpc.Channel]:
        server = start(exported.path, grpc_port=0, **options)
        channels.append(grpc.insecure_channel(server.line.rpartition("gRPC ")[2]))
        return server, channels[-1]

    yield begin
    for channel in channels:
        channel.close()


def status_of(channel: grpc.Channel, **options: Any) -> str:
    """Asks for the model's status; returns the name of the answer's code."""
    request = get_model_status_pb2.GetModelStatusRequest()
    request.model_spec.name = "demo"
    try:
        model_service_pb2_grpc.ModelServiceStub(channel).GetModelStatus(request, 10, **options)
    except grpc.RpcError as error:
        return error.code().name
    return "OK"


def test_health_and_services_are_told(serve: Callable[..., Any]) -> None:
    server, channel = serve(drain_seconds=20.0)
    health = health_pb2_grpc.HealthStub(channel)
    for name in ("", PREDICTION, "tensorflow.serving.ModelService"):
        assert health.Check(health_pb2.HealthCheckRequest(service=name), 10).status == SERVING
    with pytest.raises(grpc.RpcError) as error:
        health.Check(health_pb2.HealthCheckRequest(service="other"), 10)
    assert error.value.code() is grpc.StatusCode.NOT_FOUND

    asked = iter([reflection_pb2.ServerReflectionRequest(list_services="")])
    stub = reflection_pb2_grpc.ServerReflectionStub(channel)
    [answer] = stub.ServerReflectionInfo(asked, timeout=10)
    names = {service.name for service in answer.list_services_response.service}
    assert {PREDICTION, "grpc.health.v1.Health"} < names
    asked = iter([reflection_pb2.ServerReflectionRequest(file_containing_symbol=PREDICTION)])
    [answer] = stub.ServerReflectionInfo(asked, timeout=10)
    assert answer.file_descriptor_response.file_descriptor_proto

    watched = health.Watch(health_pb2.HealthCheckRequest(), 30)
    assert next(watched).status == SERVING
    began = time.monotonic()
    server.begin_to_stop()
    assert [one.status for one in watched] == [NOT_SERVING]
    server.stop()
    # Not when the time to drain is over.
    assert time.monotonic() - began < 20


def test_who_watches_is_told_of_the_end_however_rarely_it_is_looked_for(
    serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Longer than the server waits for requests that have not arrived.
    monkeypatch.setattr(grpc_operations, "_LOOK_SECONDS", 1.5)
    server, channel = serve(drain_seconds=20.0)
    watched = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest(), 30)
    assert next(watched).status == SERVING
    server.begin_to_stop()
    assert [one.status for one in watched] == [NOT_SERVING]


def test_calls_need_a_key_and_health_does_not(serve: Callable[..., Any], tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("secret")
    server, channel = serve(api_key_file=keys)
    health = health_pb2_grpc.HealthStub(channel)
    assert health.Check(health_pb2.HealthCheckRequest(), 10).status == SERVING
    assert status_of(channel) == "UNAUTHENTICATED"
    assert status_of(channel, metadata=(("authorization", "Bearer wrong"),)) == "UNAUTHENTICATED"
    assert status_of(channel, metadata=KEY) == "OK"
    stub = reflection_pb2_grpc.ServerReflectionStub(channel)
    asked = [reflection_pb2.ServerReflectionRequest(list_services="")]
    with pytest.raises(grpc.RpcError) as error:
        list(stub.ServerReflectionInfo(iter(asked), timeout=10))
    assert error.value.code() is grpc.StatusCode.UNAUTHENTICATED
    assert list(stub.ServerReflectionInfo(iter(asked), timeout=10, metadata=KEY))
