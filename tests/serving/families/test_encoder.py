"""A served encoder answers over HTTP what `OnnxEncoder` says, and refuses what it cannot answer."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import requests
from served_models import answer, arrays, open_served

from keras_transformer.export import export_onnx
from keras_transformer.pretrained.recognise import from_pretrained
from keras_transformer.runtime.encoder import OnnxEncoder
from keras_transformer.serving.errors import ServingError
from keras_transformer.serving.models import outputs

TEXTS = ["a small house", "", "the red dog runs to the river", "hello"]
LONG = "the small river " * 30


def ask(server: Any, signature: str, inputs: Any) -> Any:
    response = server.predict({"signature_name": signature, "inputs": inputs})
    assert response.status_code == 200, response.text
    return response.json()["outputs"]


def test_embeds_and_gives_states(
    serve: Callable[..., Any], family_artefact: Callable[[Any], Path]
) -> None:
    server = serve(None)
    with OnnxEncoder(family_artefact(None)) as encoder:
        vectors, (states, mask) = encoder.embed(TEXTS), encoder.states(TEXTS)
    for signature in ("serving_default", "embed"):
        np.testing.assert_allclose(ask(server, signature, TEXTS), vectors, atol=1e-5)
    found = ask(server, "encode", TEXTS)
    np.testing.assert_allclose(found["encoder_states"], states, atol=1e-5)
    np.testing.assert_array_equal(found["mask"], mask)
    rows = server.predict({"instances": TEXTS}).json()["predictions"]
    np.testing.assert_allclose(rows, vectors, atol=1e-5)


def test_states_that_are_too_many_are_refused(
    serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outputs, "MOST_NUMBERS", 100)
    response = serve(None).predict({"signature_name": "encode", "instances": TEXTS})
    assert response.status_code == 400
    assert "4 texts x " in response.json()["error"]


def test_classifies_as_predict_and_as_classify(
    serve: Callable[..., Any], family_artefact: Callable[[Any], Path]
) -> None:
    server = serve("classification")
    with OnnxEncoder(family_artefact("classification")) as encoder:
        wanted = encoder.classify(TEXTS)
    found = ask(server, "serving_default", TEXTS)
    assert found["label"] == [one.label for one in wanted]
    assert found["labels"] == [["good", "bad", "neither"]] * len(TEXTS)
    np.testing.assert_allclose(
        found["probabilities"], [one.probabilities for one in wanted], atol=1e-5
    )
    body = b'{"examples": [{"text": "a small house"}, {"text": ""}]}'
    response = server.predict(body, ":classify")
    assert response.status_code == 200, response.text
    results = response.json()["results"]
    assert [[label for label, _ in row] for row in results] == found["labels"][:2]
    scores = [[score for _, score in row] for row in results]
    np.testing.assert_allclose(scores, found["probabilities"][:2], atol=1e-6)
    assert server.predict(body, ":regress").status_code == 404


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"examples": {}}', "examples must be a list"),
        (b"{}", "examples must be a list"),
        (b'{"examples": [{"text": 3}]}', "text of example 0 must be a string"),
        (b'{"examples": [{"text": "a"}, {"words": "b"}]}', "example 1 must be an object"),
        (b'{"examples": ["a"]}', "example 0 must be an object"),
        (b'{"examples": [], "instances": []}', "unknown key 'instances'"),
        (b'{"examples": [], "signature_name": "embed"}', "classify has the signature 'classify'"),
    ],
)
def test_wrong_examples_are_named(serve: Callable[..., Any], body: bytes, message: str) -> None:
    response = serve("classification").predict(body, ":classify")
    assert response.status_code == 400
    assert message in response.json()["error"]


def test_fills_masks(serve: Callable[..., Any], family_artefact: Callable[[Any], Path]) -> None:
    server = serve("masked_lm")
    texts = ["a <mask> house", "the <mask> runs to <mask>"]
    with OnnxEncoder(family_artefact("masked_lm")) as encoder:
        wanted = encoder.fill_mask(texts, 2)
    found = ask(server, "fill_mask", texts)
    assert found["texts"] == [[one.text for one in few] for few in wanted]
    assert found["tokens"] == [
        [[*one.tokens, *[""] * (2 - len(one.tokens))] for one in few] for few in wanted
    ]
    np.testing.assert_allclose(
        found["scores"], [[one.score for one in few] for few in wanted], atol=1e-4
    )
    response = server.predict({"instances": ["a <mask>", "hello"]})
    assert response.status_code == 400
    assert "row 1 of text has no <mask>" in response.json()["error"]


def test_tags_words(serve: Callable[..., Any], family_artefact: Callable[[Any], Path]) -> None:
    server = serve("tagging")
    with OnnxEncoder(family_artefact("tagging")) as encoder:
        wanted = encoder.tag(TEXTS)
    found = ask(server, "tag", TEXTS)
    for tokens, tags, words in zip(found["tokens"], found["tags"], wanted, strict=True):
        assert [one for one in tokens if one] == [one.word for one in words]
        assert tags[: len(words)] == [one.tag for one in words]


def test_texts_without_a_word_have_no_tags(serve: Callable[..., Any]) -> None:
    server = serve("tagging")
    for texts in ([""], ["   ", ""]):
        found = ask(server, "tag", texts)
        assert found == dict.fromkeys(("tokens", "tags", "probabilities"), [[] for _ in texts])
    rows = server.predict({"instances": [""]}).json()["predictions"]
    assert rows == [{"tokens": [], "tags": [], "probabilities": []}]


def test_a_text_that_is_too_long_word_by_word_is_refused(
    serve: Callable[..., Any], family_artefact: Callable[[Any], Path]
) -> None:
    with OnnxEncoder(family_artefact("tagging")) as encoder:
        text, limit = "<mask> " * 10, 18
        [tokens] = encoder.tag_lengths([text])
        assert encoder.text_lengths([text])[0] <= limit < tokens
    response = serve("tagging").predict({"instances": ["a", text]})
    assert response.status_code == 400
    assert (
        f"row 1 of text has {tokens} tokens, more than the limit of {limit}"
        in (response.json()["error"])
    )


def test_a_mask_may_be_spelled_as_the_vocabulary_normalizes_it(serve: Callable[..., Any]) -> None:
    found = ask(serve("masked_lm"), "fill_mask", ["日本 ＜mask＞  ☃"])
    assert all(text.startswith("日本") and text.endswith("  ☃") for text in found["texts"][0])


def test_gives_numbers_and_spans(
    serve: Callable[..., Any], family_artefact: Callable[[Any], Path]
) -> None:
    with OnnxEncoder(family_artefact("regression")) as encoder:
        values = encoder.regress(TEXTS)
    server = serve("regression")
    np.testing.assert_allclose(ask(server, "regress", TEXTS), values, atol=1e-5)
    response = server.predict({"examples": [{"text": text} for text in TEXTS]}, ":regress")
    np.testing.assert_allclose(response.json()["results"], values, atol=1e-5)
    with OnnxEncoder(family_artefact("spans")) as encoder:
        spans = encoder.find_spans(["hello"] * 3, ["a small house", "", "the red dog"])
    given = {"question": ["hello"] * 3, "text": ["a small house", "", "the red dog"]}
    found = ask(serve("spans"), "find_span", given)
    assert found["answer"] == [one.text for one in spans]
    assert found["first"] == [one.first for one in spans]
    assert found["last"] == [spans[0].last, -1, spans[2].last]


def test_reads_pairs(serve: Callable[..., Any], family_artefact: Callable[[Any], Path]) -> None:
    given = {"text": TEXTS, "second_text": TEXTS[::-1]}
    with OnnxEncoder(family_artefact("classification")) as encoder:
        classes = encoder.classify(TEXTS, TEXTS[::-1])
    found = ask(serve("classification"), "classify_pairs", given)
    assert found["label"] == [one.label for one in classes]
    wanted = [one.probability for one in classes]
    np.testing.assert_allclose(found["probability"], wanted, atol=1e-5)
    with OnnxEncoder(family_artefact("regression")) as encoder:
        values = encoder.regress(TEXTS, TEXTS[::-1])
    np.testing.assert_allclose(ask(serve("regression"), "regress_pairs", given), values, atol=1e-5)
    with OnnxEncoder(family_artefact("pretraining")) as encoder:
        follows = encoder.next_sentences(TEXTS, TEXTS[::-1])
    found = ask(serve("pretraining"), "next_sentence", given)
    np.testing.assert_allclose(found, follows, atol=1e-5)


@pytest.mark.parametrize("head", [None, "classification", "spans"])
def test_long_texts_are_refused(serve: Callable[..., Any], head: Any) -> None:
    row = {"text": LONG, **({"question": "hello"} if head == "spans" else {})}
    response = serve(head).predict({"instances": [row]})
    assert response.status_code == 400
    assert "more than the limit of 1" in response.json()["error"]
    assert "split the text" in response.json()["error"]


def test_embeds_behind_prompts(
    serve: Callable[..., Any], family_artefact: Callable[[Any], Path]
) -> None:
    server = serve("embedding")
    names = ["none", "query", "", "query"]
    # Behind the prompt alone is it too long.
    long = "the river " * 6
    with OnnxEncoder(family_artefact("embedding")) as encoder:
        usual = encoder.embed(TEXTS)
        pairs = zip(TEXTS, names, strict=True)
        wanted = [encoder.embed([text], prompt_name=name)[0] for text, name in pairs]
        plain, prompted = encoder.text_lengths([long, *encoder.prompted([long])])
    for signature in ("serving_default", "embed"):
        np.testing.assert_allclose(ask(server, signature, TEXTS), usual, atol=1e-5)
    given = {"text": TEXTS, "prompt_name": names}
    found = np.array(ask(server, "embed_with_prompt", given))
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert found.shape == (4, 5) and not np.allclose(found[0], usual[0])
    given["prompt_name"] = ["", "x", "", ""]
    response = server.predict({"signature_name": "embed_with_prompt", "inputs": given})
    assert response.status_code == 400
    assert "row 1: prompt_name must be one of 'query', 'none', got 'x'" in response.json()["error"]
    assert plain <= 18 < prompted
    assert server.predict({"instances": [long]}).status_code == 400


@pytest.mark.parametrize("head", [None, "embedding", "classification", "tagging", "spans"])
def test_long_texts_are_cut_and_named_in_the_log(
    serve: Callable[..., Any], family_artefact: Callable[[Any], Path], head: Any, capsys: Any
) -> None:
    server = serve(head, long_texts="cut", log_requests=True)
    row = {"text": LONG, **({"question": "hello"} if head == "spans" else {})}
    response = server.predict({"instances": ["a", LONG] if len(row) == 1 else [row, row]})
    assert response.status_code == 200, response.text
    server.stop()
    limit, name = (17, "question and text") if head == "spans" else (18, "text")
    options: Any = {"max_text_length": 18, "long_texts": "cut"}
    with OnnxEncoder(family_artefact(head), **options) as encoder:
        texts = encoder.prompted([LONG]) if head == "embedding" else [LONG]
        [tokens] = (encoder.tag_lengths if head == "tagging" else encoder.text_lengths)(texts)
        if head in (None, "embedding"):
            found = response.json()["predictions"][1]
            np.testing.assert_allclose(found, encoder.embed([LONG])[0], atol=1e-5)
        if head == "spans":
            tokens += encoder.text_lengths(["hello"])[0]
    wanted = f'"row 1 of {name} was cut: it has {tokens} tokens, {limit} are read."'
    assert wanted in capsys.readouterr().err


def test_a_mask_that_is_cut_off_is_refused(serve: Callable[..., Any]) -> None:
    response = serve("masked_lm", long_texts="cut").predict({"instances": [f"{LONG} <mask>"]})
    assert response.status_code == 400
    assert "row 0 of text has no <mask>" in response.json()["error"]


def test_metadata_and_description_fit_the_kind(serve: Callable[..., Any]) -> None:
    server = serve("classification")
    metadata = server.get("/metadata").json()["metadata"]["signature_def"]["signature_def"]
    assert set(metadata) == {"serving_default", "classify", "classify_pairs", "embed", "encode"}
    assert metadata["classify"]["outputs"]["labels"]["tensor_shape"]["dim"][1]["size"] == "3"
    described = requests.get(f"{server.rest_url}/openapi.json", timeout=60).json()
    assert described["info"]["summary"].startswith("Models of text")
    assert "/v1/models/{model}:classify" in described["paths"]
    assert not [path for path in described["paths"] if path.endswith((":stream", ":explain"))]
    titles = {one["title"] for one in described["components"]["schemas"]["PredictRequest"]["oneOf"]}
    assert "classify, rows" in titles


def test_it_neither_streams_nor_explains(serve: Callable[..., Any]) -> None:
    server = serve("classification")
    for verb in (":stream", ":explain"):
        response = server.predict({"text": "hello"}, verb)
        assert response.status_code == 400
        assert f"has no answers to {verb[1:]}" in response.json()["error"]


def test_malformed_bytes_are_read_as_replacement_characters(serve: Callable[..., Any]) -> None:
    server = serve("classification")
    bad, good = {"b64": "YSD/"}, "a \ufffd"
    found = ask(server, "classify", [bad, good])["probabilities"]
    np.testing.assert_allclose(found[0], found[1])


def test_several_labels_and_pairs_are_the_runtime_s(tmp_path: Path) -> None:
    path = Path(__file__).parents[2] / "fixtures" / "stacks" / "roberta_feelings"
    reference = json.loads((path / "reference.json").read_text(encoding="utf-8"))
    model, tokenizer, _ = from_pretrained(path)
    export_onnx(model, tokenizer, tmp_path / "model")
    served = open_served(tmp_path / "model", max_source_length=99)
    first, second = zip(*reference["pairs"], strict=True)
    found = answer(served, "classify_pairs", text=first, second_text=second)
    wide = np.exp(np.array(reference["pair_logits"]))
    np.testing.assert_allclose(found["probabilities"], wide / (1 + wide), atol=1e-5)
    signature = served.signatures["classify_pairs"]
    assert "whatever the others have" in signature.outputs[-1].description
    # A row has 64 positions, and a pair of texts five tokens beside them.
    for number, is_long in ((60, False), (61, True)):
        inputs = arrays(text=["!" * number], second_text=[""])
        if is_long:
            with pytest.raises(ServingError, match=r"61 tokens, .*60"):
                served.read(signature, inputs)
        else:
            served.read(signature, inputs)
    served.close()
