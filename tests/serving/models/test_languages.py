"""Languages as fields of a request: each row brings its own."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
import tensorflow as tf
from playwright.sync_api import expect
from served_models import answer, open_served
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

from keras_transformer.export import OnnxTranslator, export_saved_model
from keras_transformer.search.options import SearchOptions
from keras_transformer.serving.errors import Code, ServingError
from keras_transformer.serving.models.model import ServedModel
from keras_transformer.training.transfer.import_run import import_run

FIXTURES = Path(__file__).parents[2] / "fixtures" / "translators"
TEXT = "Two dogs run."
SEARCH = {"max_length": 12}
PAIRS = [("", ""), ("eng_Latn", "fra_Latn"), ("fra_Latn", "eng_Latn"), ("", "fra_Latn")]


@pytest.fixture(scope="module")
def artefact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The artefact of a model of several languages."""
    from keras_transformer.cli import main

    folder = tmp_path_factory.mktemp("nllb")
    import_run(FIXTURES / "nllb", folder / "run")
    words = ["export", str(folder / "run"), "--format", "onnx", "--output", str(folder / "onnx")]
    assert main(words) == 0
    return folder / "onnx"


@pytest.fixture(scope="module")
def model(artefact: Path) -> ServedModel:
    """The model as it is served."""
    return open_served(artefact, SEARCH)


def ask(model: ServedModel, pairs: list[tuple[str, str]]) -> list[str]:
    """Returns the translations of one text between pairs of languages."""
    columns = [[TEXT] * len(pairs), *zip(*pairs, strict=True)]
    names = ("text", "source_language", "target_language")
    found = answer(model, "translate_between", **dict(zip(names, columns, strict=True)))
    return [one.decode() for one in found["translation"]]


@pytest.fixture(scope="module")
def expected(artefact: Path) -> list[str]:
    """What the translator makes of the text, between each pair."""
    with OnnxTranslator(artefact) as translator:
        found = [
            translator.translate(
                [TEXT],
                **SEARCH,
                source_language=source or None,
                target_language=target or None,
            )[0]
            for source, target in PAIRS
        ]
    assert len(set(found)) > 1
    return found


def test_rows_of_different_languages_answer_as_the_translator(
    model: ServedModel, expected: list[str]
) -> None:
    assert ask(model, PAIRS) == expected


def test_an_unknown_language_is_refused_by_row(model: ServedModel) -> None:
    with pytest.raises(ServingError, match=r"row 1: target_language .*got 'xx'") as refusal:
        ask(model, [("", ""), ("", "xx")])
    assert refusal.value.code == Code.INVALID_ARGUMENT


def test_rest_and_grpc_take_languages_from_each_row(
    start: Callable[..., Any], artefact: Path, expected: list[str]
) -> None:
    server = start(artefact, SearchOptions(**SEARCH), grpc_port=0)
    names = ("text", "source_language", "target_language")
    rows = [dict(zip(names, (TEXT, *pair), strict=True)) for pair in PAIRS]
    body = {"signature_name": "translate_between", "instances": rows}
    answers = server.predict(body).json()["predictions"]
    assert [answer["translation"] for answer in answers] == expected
    refused = server.predict({**body, "instances": [{**rows[0], names[2]: "xx"}]})
    assert refused.status_code == 400
    assert "row 0: target_language must be one of" in refused.json()["error"]

    found = server.get("/languages").json()
    assert set(found["languages"]) >= {"eng_Latn", "fra_Latn"} and found["names_source"]
    assert (found["source_language"], found["target_language"]) == ("eng_Latn", "spa_Latn")
    asked = {"text": TEXT, **dict(zip(names[1:], PAIRS[2], strict=True))}
    explained = server.predict(asked, ":explain").json()
    assert explained["sentences"][0]["hypotheses"][0]["translation"] == expected[2]
    for pair, translation in zip(PAIRS, expected, strict=True):
        asked = {"text": TEXT, **dict(zip(names[1:], pair, strict=True))}
        events = server.predict(asked, ":stream").text
        assert json.dumps({"translation": translation}) in events

    request = predict_pb2.PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = "demo", "translate_between"
    for name in names:
        column = tf.make_tensor_proto([row[name] for row in rows])
        request.inputs[name].CopyFrom(column)
    [port] = re.findall(r"gRPC \S+:(\d+)", server.line)
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        found = tf.make_ndarray(stub.Predict(request, 60).outputs["translation"])
        assert [text.decode() for text in found] == expected
        request.inputs[names[2]].CopyFrom(tf.make_tensor_proto(["xx"] * len(rows)))
        with pytest.raises(grpc.RpcError) as refusal:
            stub.Predict(request, 60)
    assert refusal.value.code() == grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.exhaustive
def test_a_saved_model_takes_languages_from_each_row(
    artefact: Path, expected: list[str], tmp_path: Path
) -> None:
    run = artefact.parent / "run"
    columns = dict(
        zip(("source_language", "target_language"), zip(*PAIRS, strict=True), strict=True)
    )
    codes = {name: tf.constant(column) for name, column in columns.items()}
    saved = export_saved_model(run, tmp_path / "text", **SEARCH)
    signature = tf.saved_model.load(str(saved)).signatures["translate_between"]
    found = signature(text=tf.constant([TEXT] * len(PAIRS)), **codes)["translation"].numpy()
    assert [text.decode() for text in found] == expected
    with pytest.raises(tf.errors.InvalidArgumentError, match="source_language must be one of"):
        signature(
            text=tf.constant([TEXT]),
            source_language=tf.constant(["xx"]),
            target_language=tf.constant([""]),
        )


def test_the_page_offers_languages(
    start: Callable[..., Any], browser: Any, artefact: Path, expected: list[str]
) -> None:
    server = start(artefact, SearchOptions(**SEARCH))
    page = browser.new_context().new_page()
    page.goto(server.rest_url)
    page.wait_for_selector("#target_language:not([hidden])")
    assert page.input_value("#target_language") == "spa_Latn"
    page.select_option("#target_language", "fra_Latn")
    page.fill("#source", TEXT)
    page.press("#source", "Enter")
    page.wait_for_selector("#translation[aria-busy=false]", state="attached")
    assert page.inner_text("#translation") == expected[3]
    page.select_option("#source_language", "fra_Latn")
    page.select_option("#target_language", "eng_Latn")
    expect(page.locator("#translation")).to_have_text(expected[2])
    page.context.close()
