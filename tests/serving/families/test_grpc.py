"""gRPC answers for every family, Classify and Regress included."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.runtime.encoder import OnnxEncoder
from keras_transformer.runtime.generator import OnnxGenerator

grpc = pytest.importorskip("grpc", reason="[grpc]")
pytest.importorskip("tensorflow_serving", reason="[grpc]")

import tensorflow as tf  # noqa: E402
from tensorflow_serving.apis import (  # noqa: E402
    classification_pb2,
    inference_pb2,
    predict_pb2,
    prediction_service_pb2_grpc,
    regression_pb2,
)

TEXTS = ["a small house", "", "the red dog"]


@pytest.fixture
def stub(serve: Callable[..., Any]) -> Iterator[Callable[[Any], Any]]:
    """`stub(head)`: a client of a server of such a model."""
    channels = []

    def connect(head: Any) -> Any:
        server = serve(head, grpc_port=0)
        channels.append(grpc.insecure_channel(f"127.0.0.1:{server.line.rpartition(':')[2]}"))
        return prediction_service_pb2_grpc.PredictionServiceStub(channels[-1])

    yield connect
    for channel in channels:
        channel.close()


def examples(request: Any, *texts: str) -> Any:
    request.model_spec.name = "demo"
    for text in texts:
        example = request.input.example_list.examples.add()
        example.features.feature["text"].bytes_list.value.append(text.encode())
    return request


def test_classify_gives_every_label_its_score(
    stub: Callable[[Any], Any], family_artefact: Callable[[Any], Path]
) -> None:
    with OnnxEncoder(family_artefact("classification")) as encoder:
        wanted = encoder.classify(TEXTS)
    client = stub("classification")
    found = client.Classify(examples(classification_pb2.ClassificationRequest(), *TEXTS), 20)
    assert (found.model_spec.name, found.model_spec.version.value) == ("demo", 1)
    for row, one in zip(found.result.classifications, wanted, strict=True):
        assert [few.label for few in row.classes] == list(encoder.config.labels)
        scores = [few.score for few in row.classes]
        np.testing.assert_allclose(scores, one.probabilities, atol=1e-5)
    with_context = classification_pb2.ClassificationRequest()
    with_context.model_spec.name = "demo"
    given = with_context.input.example_list_with_context
    given.context.features.feature["text"].bytes_list.value.append(TEXTS[0].encode())
    given.examples.add()
    [only] = client.Classify(with_context, 20).result.classifications
    assert only == found.result.classifications[0]


def test_regress_gives_numbers(
    stub: Callable[[Any], Any], family_artefact: Callable[[Any], Path]
) -> None:
    with OnnxEncoder(family_artefact("regression")) as encoder:
        wanted = encoder.regress(TEXTS)
    request = examples(regression_pb2.RegressionRequest(), *TEXTS)
    found = stub("regression").Regress(request, 20).result.regressions
    np.testing.assert_allclose([one.value for one in found], wanted, atol=1e-5)


def test_wrong_examples_and_other_models_are_refused(stub: Callable[[Any], Any]) -> None:
    client = stub("classification")
    request = examples(classification_pb2.ClassificationRequest(), "a")
    request.input.example_list.examples.add()
    with pytest.raises(grpc.RpcError) as error:
        client.Classify(request, 20)
    assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "example 1 must have the feature 'text' alone, got none" in error.value.details()
    with pytest.raises(grpc.RpcError) as error:
        client.Regress(examples(regression_pb2.RegressionRequest(), "a"), 20)
    assert error.value.code() is grpc.StatusCode.UNIMPLEMENTED
    served = "Predict, Classify, GetModelMetadata and GetModelStatus are"
    assert error.value.details() == f"Regress is not served here: {served}."
    with pytest.raises(grpc.RpcError) as error:
        client.MultiInference(inference_pb2.MultiInferenceRequest(), 20)
    assert error.value.details() == f"MultiInference is not served here: {served}."


@pytest.mark.parametrize(
    ("head", "signature", "inputs", "outputs"),
    [
        ("masked_lm", "fill_mask", {"text": ["a <mask>"]}, {"texts", "tokens", "scores"}),
        ("decoder", "generate", {"prompt": ["the red"]}, {"text", "score"}),
    ],
)
def test_predict_answers_as_rest_does(
    stub: Callable[[Any], Any],
    serve: Callable[..., Any],
    head: str,
    signature: str,
    inputs: dict[str, list[str]],
    outputs: set[str],
) -> None:
    request = predict_pb2.PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = "demo", signature
    for name, texts in inputs.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto([text.encode() for text in texts]))
    found = {
        key: tf.make_ndarray(value)
        for key, value in stub(head).Predict(request, 20).outputs.items()
    }
    assert set(found) == outputs
    rest = serve(head).predict({"signature_name": signature, "inputs": inputs}).json()["outputs"]
    for name, value in found.items():
        if value.dtype == object:
            assert np.vectorize(bytes.decode, otypes=[object])(value).tolist() == rest[name]
        else:
            np.testing.assert_allclose(value, rest[name], atol=1e-5)


def test_a_request_is_drawn_with_its_own_options(
    stub: Callable[[Any], Any], family_artefact: Callable[[Any], Path]
) -> None:
    drawn = {"sample": True, "seed": 5, "temperature": 1.5, "top_k": 9}
    with OnnxGenerator(family_artefact("decoder")) as generator:
        [[wanted]] = generator.generate_n_best(["the red"], max_length=6, **drawn)
    request = predict_pb2.PredictRequest()
    request.model_spec.name = "demo"
    request.model_spec.signature_name = "generate_with_options"
    inputs = {"prompt": "the red", "max_length": 6, "length_penalty": 0.6, **drawn}
    for name, value in inputs.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto([value]))
    request.inputs["stop"].CopyFrom(tf.make_tensor_proto([["never said"]]))
    found = stub("decoder").Predict(request, 20).outputs
    assert found["text"].string_val[0].decode() == wanted.text
    assert found["stop_reason"].string_val[0].decode() == wanted.stop_reason
