"""What a client does wrong, or too much of, it alone is told; the server goes on for the others."""

import base64
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import numpy as np
import pytest
import requests
import sentencepiece
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

from keras_transformer.export import OnnxTranslator

MEGABYTES_10 = 10 * 2**20
# Each sentence takes the model long enough to get something in between.
SLOW = {"min_length": 100, "max_length": 101}


@pytest.fixture(scope="module")
def server(launch: Callable[..., Any], exported: Any) -> Any:
    """An ordinary server with both protocols."""
    return launch(exported.path, "--grpc-port=0")


@pytest.fixture(scope="module")
def slow_server(launch: Callable[..., Any], exported: Any) -> Any:
    """A server that takes one long sentence after the other."""
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in SLOW.items()]
    queue = ("--max-batch=1", "--max-queue=200", "--max-sentences=200")
    return launch(exported.path, "--grpc-port=0", *queue, *flags)


@pytest.fixture(scope="module")
def translator(exported: Any) -> OnnxTranslator:
    return OnnxTranslator(exported.path)


@pytest.fixture(autouse=True)
def _others_are_still_answered(
    server: Any, translator: OnnxTranslator, texts: list[str]
) -> Iterator[None]:
    yield
    assert server.translate(texts) == translator.translate(texts)


def error_of(response: requests.Response) -> str:
    """Returns the message of a refusal in TensorFlow Serving's shape."""
    body = response.json()
    assert list(body) == ["error"]
    return body["error"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"instances": ["a"]',
        b'{"instances": ["a"]}}',
        b'{"instances": [NaN]}',
        b'{"instances": ["a", 1]}',
        b'{"instances": [{"text": "a"}, {"txt": "b"}]}',
        b'{"instances": [["a"], "b"]}',
        b'{"instances": [{"b64": "%%%"}]}',
        b'{"instances": null}',
        b'{"instances": ["a"], "inputs": ["a"]}',
        b'{"instances": ["a"], "signature_name": 3}',
        b'{"instances": ["a"], "signature_name": "other"}',
        b'{"inputs": {"text": {"a": 1}}}',
        b'["instances"]',
        b'"instances"',
        b"null",
        b'{"instances": ["\\ud800"]}',
        b'{"instances": ["caf\xe9"]}',
        b'{"instances": ["\x00"]}',
        b"[" * 100_000,
        b'{"instances": [1e999]}',
        b'{"inputs": {"source_ids": [[99999999999]]}, "signature_name": "translate_ids"}',
        b'{"inputs": {"source_ids": [[1], [2, 3]]}, "signature_name": "translate_ids"}',
    ],
)
def test_malformed_json_is_a_400_that_says_why(server: Any, body: bytes) -> None:
    response = requests.post(f"{server.model}:predict", data=body, timeout=30)
    assert response.status_code == 400, response.text
    assert len(error_of(response)) > 10


def test_10_mb_of_text_are_refused_over_both_protocols(
    server: Any, grpc_predict: Callable[..., Any]
) -> None:
    text = "the river " * (MEGABYTES_10 // 10)
    try:
        response = requests.post(f"{server.model}:predict", json={"instances": [text]}, timeout=30)
    except requests.ConnectionError:
        pass  # The server need not read to the end what it will not take.
    else:
        assert response.status_code == 413
        assert "bytes" in error_of(response)
    with pytest.raises(grpc.RpcError) as error:
        grpc_predict(server.grpc_address, "serving_default", {"text": [text]})
    assert error.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


@pytest.mark.parametrize(
    ("long_texts", "message"),
    [
        pytest.param(
            "refuse", "has [0-9]+ tokens, more than the limit", marks=pytest.mark.exhaustive
        ),
        ("split", "more than 256 parts of at most 512 tokens"),
    ],
)
def test_10_mb_of_text_where_they_are_allowed_hold_nobody_up(
    launch: Callable[..., Any], exported: Any, long_texts: str, message: str
) -> None:
    # On a busy machine the refusal takes more than the usual 30 seconds.
    flags = (f"--max-body-bytes={2 * MEGABYTES_10}", "--request-timeout=300")
    server = launch(exported.path, *flags, f"--long-texts={long_texts}")
    # Written beforehand: it would hold up this process, too.
    text = json.dumps({"instances": ["the river " * (MEGABYTES_10 // 10)]}).encode()
    waited, started = [], time.monotonic()
    with ThreadPoolExecutor(1) as pool:
        refusal = pool.submit(requests.post, f"{server.model}:predict", data=text, timeout=300)
        while not refusal.done():
            asked = time.monotonic()
            server.translate(["hello"])
            waited.append(time.monotonic() - asked)
    whole = time.monotonic() - started
    assert refusal.result().status_code == 400
    assert re.search(message, error_of(refusal.result()))
    # However busy the machine is: nobody waits until 10 MB are read, tokenized and refused.
    assert max(waited) < whole / 2

    body = {"instances": ["a"] * (MEGABYTES_10 // 5)}
    response = requests.post(f"{server.model}:predict", json=body, timeout=300)
    assert response.status_code == 400
    assert "sentences" in error_of(response)


@pytest.mark.parametrize("text", [b"caf\xe9", b"a \xc3 house"])
def test_invalid_utf_8_is_read_as_sentencepiece_reads_it_over_both_protocols(
    server: Any, exported: Any, grpc_predict: Callable[..., Any], text: bytes
) -> None:
    instance = {"b64": base64.b64encode(text).decode()}
    response = requests.post(f"{server.model}:predict", json={"instances": [instance]}, timeout=30)
    assert response.status_code == 200, response.text
    [prediction] = response.json()["predictions"]
    answer = grpc_predict(server.grpc_address, "serving_default", {"text": [text]})
    assert [prediction["translation"].encode()] == answer.outputs["translation"].tolist()

    processor = sentencepiece.SentencePieceProcessor(model_proto=exported.source_tokenizer.model)
    ids = processor.encode(text)
    assert processor.unk_id() in ids
    answer = grpc_predict(server.grpc_address, "translate_ids", {"source_ids": [ids]})
    found = [token for token in answer.outputs["ids"][0].tolist() if token]
    assert exported.target_tokenizer.decode([found]) == [prediction["translation"]]


@pytest.mark.parametrize("text", [b"\xff\xfe", b"\xed\xa0\x80"])
def test_invalid_utf_8_without_a_letter_comes_back_over_both_protocols(
    server: Any, grpc_predict: Callable[..., Any], text: bytes
) -> None:
    instance = {"b64": base64.b64encode(text).decode()}
    response = requests.post(f"{server.model}:predict", json={"instances": [instance]}, timeout=30)
    assert response.json()["predictions"][0]["translation"] == instance
    answer = grpc_predict(server.grpc_address, "serving_default", {"text": [text]})
    assert answer.outputs["translation"].tolist() == [text]


def test_invalid_utf_8_outside_of_base64_is_no_json(server: Any) -> None:
    body = b'{"instances": ["caf\xe9"]}'
    response = requests.post(f"{server.model}:predict", data=body, timeout=30)
    assert response.status_code == 400
    assert "utf-8" in error_of(response)


@pytest.mark.parametrize("protocol", ["rest", "grpc"])
def test_a_client_that_hangs_up_takes_its_sentences_along(
    slow_server: Any,
    grpc_predict: Callable[..., Any],
    wait_until: Callable[..., Any],
    texts: list[str],
    protocol: str,
) -> None:
    sentences = (texts * 40)[:150]
    if protocol == "rest":
        hang_up = start_rest(slow_server, sentences)
    else:
        hang_up = start_grpc(slow_server, sentences)
    wait_until(lambda: slow_server.metric("queue_length") > 100, 10)
    hang_up()
    wait_until(lambda: slow_server.metric("queue_length") == 0, 1)
    started = time.monotonic()
    slow_server.translate(texts[:1])
    assert time.monotonic() - started < 2


def start_rest(server: Any, sentences: list[str]) -> Callable[[], None]:
    """Sends a request and returns what breaks its connection."""
    body = json.dumps({"instances": sentences}).encode()
    host, _, port = server.address.partition(":")
    connection = socket.create_connection((host, int(port)))
    head = (
        "POST /v1/models/demo:predict HTTP/1.1\r\nhost: localhost\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    connection.sendall(head.encode() + body)
    return connection.close


def start_grpc(server: Any, sentences: list[str]) -> Callable[[], None]:
    """Sends a request and returns what breaks its connection."""
    channel = grpc.insecure_channel(server.grpc_address)
    stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
    request = predict_pb2.PredictRequest(model_spec={"name": "demo"})
    request.inputs["text"].CopyFrom(tf.make_tensor_proto(sentences))
    call = stub.Predict.future(request, 60)

    def hang_up() -> None:
        channel.close()
        assert call.code() is grpc.StatusCode.CANCELLED

    return hang_up


@pytest.mark.exhaustive
@pytest.mark.parametrize("protocol", ["rest", "grpc"])
def test_a_full_queue_refuses_and_recovers(
    slow_server: Any,
    exported: Any,
    grpc_predict: Callable[..., Any],
    texts: list[str],
    protocol: str,
) -> None:
    expected = OnnxTranslator(exported.path).translate(texts, **SLOW)
    sentences = texts * 10

    def over_rest() -> list[str] | None:
        response = requests.post(
            f"{slow_server.model}:predict", json={"instances": sentences}, timeout=100
        )
        if response.status_code == 429:
            assert int(response.headers["retry-after"]) > 0
            assert "busy" in error_of(response)
            return None
        return [prediction["translation"] for prediction in response.json()["predictions"]]

    def over_grpc() -> list[str] | None:
        try:
            answer = grpc_predict(slow_server.grpc_address, "serving_default", {"text": sentences})
        except grpc.RpcError as error:
            assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert "busy" in error.details()
            return None
        return [text.decode() for text in answer.outputs["translation"]]

    call = over_rest if protocol == "rest" else over_grpc
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: call(), range(8)))
    refused = answers.count(None)
    # 200 of 480 sentences may wait.
    assert 3 <= refused <= 5
    assert [answer for answer in answers if answer] == [expected * 10] * (8 - refused)
    assert call() == expected * 10


def test_each_of_many_clients_gets_its_own_texts_translation(
    server: Any, translator: OnnxTranslator, texts: list[str], grpc_predict: Callable[..., Any]
) -> None:
    words = " ".join(texts).split()
    generator = np.random.default_rng(0)
    asked = [
        [" ".join(generator.choice(words, generator.integers(1, 9))) for _ in range(size)]
        for size in generator.integers(1, 5, 240)
    ]
    wanted = [translator.translate(sentences) for sentences in asked]
    assert len({translation for row in wanted for translation in row}) > 200
    start = threading.Barrier(16)

    def client(number: int) -> list[list[str]]:
        start.wait()
        found = []
        for sentences in asked[number::16]:
            if number % 2:
                answer = grpc_predict(server.grpc_address, "serving_default", {"text": sentences})
                found.append([text.decode() for text in answer.outputs["translation"]])
            else:
                found.append(server.translate(sentences))
        return found

    with ThreadPoolExecutor(16) as pool:
        for number, found in enumerate(pool.map(client, range(16))):
            assert found == wanted[number::16]
