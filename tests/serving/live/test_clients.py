"""Clients written for TensorFlow Serving run unchanged: against our server over both protocols, and
against a plain gRPC servicer around the SavedModel of the same model, which gives equal answers.
"""

import base64
import json
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import numpy as np
import pytest
import requests

from keras_transformer.export import OnnxTranslator
from keras_transformer.export.saved_model.export import export_saved_model

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
SEARCHES: dict[str, dict[str, Any]] = {
    "greedy": {"max_length": 24},
    "beam": {"max_length": 24, "beam_size": 4, "num_hypotheses": 3},
}
SIGNATURES = [
    "serving_default",
    "translate_n_best",
    "score",
    "encode",
    "translate_ids",
    "translate_with_options",
]


class Servers(NamedTuple):
    """Two servers of one model with one search, and the search."""

    ours: Any
    saved_model: Any
    search: dict[str, Any]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=() if name == "greedy" else pytest.mark.exhaustive)
        for name in SEARCHES
    ],
)
def servers(
    request: pytest.FixtureRequest,
    exported: Any,
    launch: Callable[..., Any],
    spawn: Callable[..., Any],
    wait_until: Callable[..., Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> Servers:
    search = SEARCHES[request.param]
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in search.items()]
    ours = launch(exported.path, "--grpc-port=0", *flags)
    directory = tmp_path_factory.mktemp("saved_model")
    export_saved_model(exported.model, directory, tokenizer=exported.source_tokenizer, **search)
    script = EXAMPLES / "saved_model_grpc.py"
    thin = spawn(script, directory, "--model=demo", "--port=0")

    def is_ready() -> bool:
        assert thin.process.poll() is None, thin.output.read_text()
        return "version 1" in thin.output.read_text()

    wait_until(is_ready, 60)
    [line] = [line for line in thin.output.read_text().splitlines() if line.startswith("gRPC on ")]
    thin.grpc_address = line.split()[2].rstrip(":")
    return Servers(ours, thin, search)


@pytest.fixture(scope="module")
def inputs(exported: Any, texts: list[str]) -> dict[str, dict[str, Any]]:
    """For each signature what to ask: texts known and unknown, empty, long and not UTF-8."""
    strings = [text.encode() for text in texts] + [
        b"",
        "¿qué?".encode(),
        b"caf\xe9 \xff",
        b"a " * 40,
    ]
    rows = exported.source_tokenizer.encode(texts)
    ids = [row + [0] * (max(map(len, rows)) - len(row)) for row in rows]
    count = len(strings)
    return {
        "serving_default": {"text": strings},
        "translate_n_best": {"text": strings},
        "score": {"source": strings, "target": strings[::-1]},
        "encode": {"text": strings},
        # An unknown id, an id that only the search may use, and a row without an id.
        "translate_ids": {"source_ids": [*ids, [4, 9999, 5, 2] + [0] * (len(ids[0]) - 4)]},
        "translate_with_options": {
            "text": strings,
            "max_length": ([1, 5, 99, 3] * count)[:count],
            "length_penalty": ([0.0, 2.0, 1.0] * count)[:count],
            "target_prefix": ([b"", b"birds see", b"the " * 30] * count)[:count],
        },
    }


def to_json(value: Any) -> Any:
    """Writes bytes as the REST interface takes them."""
    if isinstance(value, bytes):
        return {"b64": base64.b64encode(value).decode()}
    return value


def rest_columns(model: str, signature: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """Asks in the column format."""
    columns = {name: [to_json(value) for value in values] for name, values in inputs.items()}
    body = {"signature_name": signature, "inputs": columns}
    response = requests.post(f"{model}:predict", json=body, timeout=60)
    assert response.status_code == 200, response.text
    return response.json()["outputs"]


def rest_rows(model: str, signature: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """Asks in the row format."""
    rows = [
        dict(zip(inputs, map(to_json, values), strict=True))
        for values in zip(*inputs.values(), strict=True)
    ]
    body = {"signature_name": signature, "instances": rows}
    response = requests.post(f"{model}:predict", json=body, timeout=60)
    assert response.status_code == 200, response.text
    predictions = response.json()["predictions"]
    return {name: [row[name] for row in predictions] for name in predictions[0]}


def assert_alike(found: dict[str, Any], expected: dict[str, np.ndarray]) -> None:
    assert set(found) == set(expected)
    for name, array in expected.items():
        other = np.array(found[name])
        assert other.shape == array.shape, name
        if array.dtype == np.float32:
            np.testing.assert_allclose(other.astype(np.float32), array, rtol=1e-5, atol=1e-4)
        elif array.dtype == object:
            decoded = [text.decode() for text in array.ravel()]
            texts = [
                text.decode() if isinstance(text, bytes) else text
                for text in other.ravel().tolist()
            ]
            assert texts == decoded
        else:
            np.testing.assert_array_equal(other, array, err_msg=name)


@pytest.mark.parametrize("signature", SIGNATURES)
def test_all_servers_and_protocols_answer_alike(
    servers: Servers,
    inputs: dict[str, dict[str, Any]],
    grpc_predict: Callable[..., Any],
    signature: str,
) -> None:
    asked = inputs[signature]
    ours = grpc_predict(servers.ours.grpc_address, signature, asked)
    theirs = grpc_predict(servers.saved_model.grpc_address, signature, asked)
    assert ours.version == theirs.version == 1
    assert_alike(theirs.outputs, ours.outputs)
    assert {name: array.dtype for name, array in theirs.outputs.items()} == {
        name: array.dtype for name, array in ours.outputs.items()
    }
    assert_alike(rest_columns(servers.ours.model, signature, asked), ours.outputs)
    assert_alike(rest_rows(servers.ours.model, signature, asked), ours.outputs)


def test_both_protocols_list_sentences_alike(
    servers: Servers, inputs: dict[str, dict[str, Any]], grpc_predict: Callable[..., Any]
) -> None:
    asked = inputs["serving_default"]
    ours = grpc_predict(servers.ours.grpc_address, "translate_sentences", asked).outputs
    assert ours["ids"].dtype == np.int32 and ours["ids"].ndim == 3
    assert ours["count"].tolist() == [1] * len(asked["text"])
    for ask in (rest_columns, rest_rows):
        found = ask(servers.ours.model, "translate_sentences", asked)
        assert set(found) == set(ours)
        assert np.array_equal(found["ids"], ours["ids"])
        np.testing.assert_allclose(found["scores"], ours["scores"], rtol=1e-5, atol=1e-4)


def test_the_answers_are_the_translators(
    servers: Servers, exported: Any, texts: list[str], grpc_predict: Callable[..., Any]
) -> None:
    answer = grpc_predict(servers.ours.grpc_address, "translate_n_best", {"text": texts})
    options = {**servers.search, "num_hypotheses": servers.search.get("num_hypotheses", 1)}
    found = OnnxTranslator(exported.path).translate_n_best(texts, **options)
    expected = [[one.text for one in row] for row in found]
    assert [[text.decode() for text in row] for row in answer.outputs["translations"]] == expected
    scores = [[one.score for one in row] for row in found]
    np.testing.assert_allclose(answer.outputs["scores"], scores, atol=1e-4)
    assert len({row[0] for row in expected}) > 3


def test_the_documentations_rest_code_runs_unchanged(servers: Servers, texts: list[str]) -> None:
    # https://www.tensorflow.org/tfx/tutorials/serving/rest_simple, with another model's name.
    data = json.dumps({"signature_name": "serving_default", "instances": texts})
    headers = {"content-type": "application/json"}
    json_response = requests.post(servers.ours.model + ":predict", data=data, headers=headers)
    predictions = json.loads(json_response.text)["predictions"]
    assert [row["translation"] for row in predictions] == servers.ours.translate(texts)
    assert json_response.headers["content-type"] == "application/json"

    status = requests.get(servers.ours.model).json()
    assert status["model_version_status"] == [
        {
            "version": "1",
            "state": "AVAILABLE",
            "status": {"error_code": "OK", "error_message": ""},
        }
    ]
    metadata = requests.get(servers.ours.model + "/metadata").json()
    signatures = metadata["metadata"]["signature_def"]["signature_def"]
    assert set(signatures) == {*SIGNATURES, "translate_sentences"}


@pytest.mark.parametrize("servers", ["greedy"], indirect=True)
def test_the_example_clients_print_the_same_from_every_server(
    servers: Servers,
    texts: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    printed = {}
    for name, script, address in (
        ("rest", "client_rest.py", servers.ours.address),
        ("grpc", "client_grpc.py", servers.ours.grpc_address),
        ("saved model", "client_grpc.py", servers.saved_model.grpc_address),
    ):
        # In this process, which has loaded the TensorFlow that they need.
        monkeypatch.setattr(sys, "argv", [script, "--server", address, *texts])
        runpy.run_path(str(EXAMPLES / script), run_name="__main__")
        printed[name] = capsys.readouterr().out
    assert printed["rest"] == printed["grpc"] == printed["saved model"]
    for line, text, translation in zip(
        printed["rest"].splitlines(), texts, servers.ours.translate(texts), strict=True
    ):
        assert line.startswith(f"{text} -> {translation} (-")


def test_both_servers_refuse_what_the_signature_does_not_take(
    servers: Servers, grpc_predict: Callable[..., Any]
) -> None:
    for address in (servers.ours.grpc_address, servers.saved_model.grpc_address):
        for asked in ({"text": [1, 2]}, {"words": ["a"]}, {"text": ["a"], "more": ["b"]}):
            with pytest.raises(grpc.RpcError) as error:
                grpc_predict(address, "serving_default", asked)
            assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT, asked
