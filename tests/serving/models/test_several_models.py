"""Two models in one server, as a file in TensorFlow Serving's format names them."""

import re
import shutil
from pathlib import Path
from typing import Any

import grpc
import pytest
import requests
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

TEXTS = ["the red dog", "hello"]


@pytest.fixture
def config(exported: Any, tmp_path: Path) -> Path:
    """A file with `single`, an artefact, and `several`, three versions of which two are served."""
    for number in (1, 2, 3):
        shutil.copytree(exported.path, tmp_path / "several" / str(number))
    file = tmp_path / "models.config"
    file.write_text(
        f"""model_config_list {{
          config {{ name: "single" base_path: "{exported.path}" }}
          config {{
            name: "several"
            base_path: "several"
            model_version_policy {{ specific {{ versions: 1 versions: 2 }} }}
            version_labels {{ key: "stable" value: 1 }}
          }}
        }}"""
    )
    return file


def test_each_model_answers_under_its_name(start, config, translator) -> None:
    server = start(model_config=config, grpc_port=0)
    assert server.line.startswith("serving single version 1; several versions 1, 2: REST http")
    expected = translator.translate(TEXTS, max_length=40)
    for path in ("single", "several", "several/labels/stable", "several/versions/2"):
        url = f"{server.rest_url}/v1/models/{path}"
        response = requests.post(f"{url}:predict", json={"instances": TEXTS}, timeout=60)
        assert [row["translation"] for row in response.json()["predictions"]] == expected
        assert requests.post(f"{url}:explain", json={"text": "hello"}, timeout=60).ok
    with grpc.insecure_channel(server.line.rpartition("gRPC ")[2]) as channel:
        request = predict_pb2.PredictRequest()
        request.inputs["text"].CopyFrom(tf.make_tensor_proto(TEXTS))
        request.model_spec.name = "several"
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        assert stub.Predict(request, 60).model_spec.version.value == 2
    assert requests.get(f"{server.rest_url}/readyz", timeout=60).ok


def test_metrics_are_by_model_and_hold_no_names_that_clients_make_up(start, config) -> None:
    server = start(model_config=config)
    for name in ("single", "several", "several", "other"):
        url = f"{server.rest_url}/v1/models/{name}:predict"
        requests.post(url, json={"instances": TEXTS}, timeout=60)
    sentences, answered = "keras_transformer_sentences_total", "keras_transformer_requests_total"
    assert server.metric(sentences, model="single") == 2
    assert server.metric(sentences, model="several") == 4
    assert server.metric(answered, model="unknown", code="NOT_FOUND") == 1
    assert server.metric(answered, model="other") == 0
    assert server.metric("keras_transformer_model_version", model="several") == 2
    assert server.metric("keras_transformer_batch_size_sum", model="single") == 2


def test_an_unknown_model_or_a_label_of_the_other_one_is_a_404(start, config) -> None:
    server = start(model_config=config)
    for path, message in (
        ("other", "Could not find any versions of model other"),
        ("single/labels/stable", "single has no 'stable', it has no labels"),
        ("several/versions/3", "Could not find any versions of model several .version 3."),
    ):
        response = requests.get(f"{server.rest_url}/v1/models/{path}", timeout=60)
        assert response.status_code == 404
        assert re.search(message, response.json()["error"])


def test_the_page_and_the_description_name_all_models(start, config) -> None:
    server = start(model_config=config)
    page = requests.get(server.rest_url, timeout=60).text
    assert "<option>single</option><option>several</option>" in page
    described = requests.get(f"{server.rest_url}/openapi.json", timeout=60).json()
    parameters = described["components"]["parameters"]
    assert parameters["model"]["schema"]["enum"] == ["single", "several"]
    assert parameters["label"]["schema"]["enum"] == ["stable"]


def test_a_model_that_cannot_be_loaded_ends_the_server(start, config, tmp_path: Path) -> None:
    (tmp_path / "several" / "2" / "weights.bin").unlink()
    with pytest.raises(ValueError, match="several: version 2 is to be served, but .*weights.bin"):
        start(model_config=config)
