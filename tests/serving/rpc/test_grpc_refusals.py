"""What a real model's gRPC side refuses, and that every message arrives."""

from collections.abc import Callable, Iterator
from typing import Any

import grpc
import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

INPUTS = {"text": ["hello"], "target_prefix": [""], "max_length": [5], "length_penalty": [1.0]}


@pytest.fixture(scope="module")
def channel(exported: Any, start_shared: Callable[..., Any]) -> Iterator[grpc.Channel]:
    server = start_shared(exported.path, grpc_port=0)
    with grpc.insecure_channel(server.line.rpartition("gRPC ")[2]) as opened:
        yield opened


def refusal(channel: grpc.Channel, **inputs: Any) -> str:
    """Sends inputs that are refused; returns the message."""
    request = predict_pb2.PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = "demo", "translate_with_options"
    for name, values in inputs.items():
        dtype = np.float32 if name == "length_penalty" else None
        request.inputs[name].CopyFrom(tf.make_tensor_proto(values, dtype))
    with pytest.raises(grpc.RpcError) as error:
        prediction_service_pb2_grpc.PredictionServiceStub(channel).Predict(request, 30)
    assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT, error.value
    return error.value.details()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("max_length", 0, "row 0 of max_length must be an integer, at least 1, got 0"),
        ("max_length", -(2**31), "at least 1, got -2147483648"),
        ("length_penalty", float("nan"), "length_penalty must be a finite number, at least 0, got"),
        ("length_penalty", float("inf"), "length_penalty must be a finite number, at least 0, got"),
        ("length_penalty", -0.5, "length_penalty must be a finite number, at least 0, got -0.5"),
    ],
)
def test_an_option_out_of_range_is_refused_by_name(channel, name, value, message) -> None:
    assert message in refusal(channel, **{**INPUTS, name: [value]})


@pytest.mark.parametrize("name", ["\U0001f600" * 1000, "a" * 100_000, "a\x00\n\x7f"])
def test_a_message_that_repeats_any_name_arrives(channel, name) -> None:
    assert "takes the inputs text and may take max_length" in refusal(
        channel, **{**INPUTS, name: ["x"]}
    )


def test_options_that_are_left_out_are_the_servers(channel: grpc.Channel) -> None:
    def ask(**inputs: Any) -> bytes:
        request = predict_pb2.PredictRequest()
        spec = request.model_spec
        spec.name, spec.signature_name = "demo", "translate_with_options"
        for name, values in inputs.items():
            request.inputs[name].CopyFrom(tf.make_tensor_proto(values))
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        return stub.Predict(request, 30).outputs["translation"].string_val[0]

    short = {"text": ["the red dog"], "max_length": [2]}
    assert ask(**short) == ask(**short, target_prefix=[""]) != ask(text=["the red dog"])
