"""TensorFlow Serving's paths and gRPC know an adapter by its name, as they know a model."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
import requests
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

from keras_transformer import OnnxGenerator

PROMPTS = ["the red", "we see"]
NAMES = ["demo", "first", "second"]


@pytest.fixture(scope="module")
def server(adapted_decoder: Any, start_shared: Callable[..., Any]) -> Any:
    named = tuple(f"{name}={file}" for name, file in adapted_decoder.files.items())
    return start_shared(adapted_decoder.path, search={"max_length": 8}, adapter=named, grpc_port=0)


@pytest.fixture(scope="module")
def wanted(adapted_decoder: Any) -> Iterator[dict[str, list[str]]]:
    """What the model with each adapter merged writes."""
    found = {}
    for name in NAMES:
        with OnnxGenerator(adapted_decoder.merged[None if name == "demo" else name]) as merged:
            found[name] = merged.generate(PROMPTS, max_length=8)
    return found


def post(server: Any, path: str, body: Any) -> requests.Response:
    return requests.post(f"{server.rest_url}/v1/models/{path}", json=body, timeout=60)


def test_each_name_predicts_as_its_merged_model(server: Any, wanted: dict[str, list[str]]) -> None:
    def ask(name: str) -> list[str]:
        response = post(server, f"{name}:predict", {"instances": PROMPTS})
        return [row["text"] for row in response.json()["predictions"]]

    with ThreadPoolExecutor(12) as pool:
        found = list(pool.map(ask, NAMES * 4))
    assert found == [wanted[name] for name in NAMES * 4]
    assert len({str(texts) for texts in found}) == 3


@pytest.mark.parametrize("path", ["second", "second/versions/1"])
def test_a_stream_has_the_adapter(
    server: Any, wanted: dict[str, list[str]], events: Callable[..., Any], path: str
) -> None:
    *pieces, done = events(post(server, f"{path}:stream", {"text": PROMPTS[0]}))
    assert "".join(data["piece"] for _, data in pieces) == wanted["second"][0]
    assert done == ("done", {"text": wanted["second"][0]})


def test_grpc_has_the_adapter(server: Any, wanted: dict[str, list[str]]) -> None:
    request = predict_pb2.PredictRequest()
    request.model_spec.name = "first"
    request.inputs["prompt"].CopyFrom(tf.make_tensor_proto(PROMPTS))
    with grpc.insecure_channel(server.line.rpartition("gRPC ")[2]) as channel:
        answer = prediction_service_pb2_grpc.PredictionServiceStub(channel).Predict(request, 60)
    texts = [text.decode() for text in tf.make_ndarray(answer.outputs["text"])]
    assert texts == wanted["first"] and answer.model_spec.name == "first"


def test_an_adapter_has_its_models_state_and_metadata(server: Any) -> None:
    url = f"{server.rest_url}/v1/models"
    assert requests.get(f"{url}/first").json() == requests.get(f"{url}/demo").json()
    assert requests.get(f"{url}/first/metadata").json()["model_spec"]["name"] == "first"


def test_texts_are_not_scored_with_an_adapter(server: Any) -> None:
    response = post(server, "first:predict", {"signature_name": "score", "instances": ["a"]})
    assert response.status_code == 400 and "scored without adapters" in response.json()["error"]
    assert post(server, "third:predict", {"instances": ["a"]}).status_code == 404
