"""The REST interface over real HTTP: formats, signatures, errors, and answers like the bare
translator's.
"""

import base64
import json
from typing import Any

import numpy as np
import pytest
import requests

from keras_transformer.artefact.search_signatures import AnswerSizes, server_signatures
from keras_transformer.search.options import SearchOptions

DTYPES = {"string": "DT_STRING", "int32": "DT_INT32", "float32": "DT_FLOAT", "bool": "DT_BOOL"}
LOWEST = float(np.finfo(np.float32).min)
TEXTS = ["the red dog", "", "hello", "we see three birds  by the river"]


def predictions(server: Any, body: Any) -> Any:
    response = server.predict(body)
    assert response.status_code == 200, response.text
    [(key, value)] = response.json().items()
    assert key == ("predictions" if "instances" in body else "outputs")
    return value


def test_translations_and_scores_are_the_translators(server, translator, search) -> None:
    found = predictions(server, {"instances": TEXTS})
    best = translator.translate_n_best(TEXTS, **search)
    assert [row["translation"] for row in found] == [one[0].text for one in best]
    scores = [row["score"] for row in found]
    assert scores == pytest.approx([one[0].score for one in best], abs=1e-4)
    assert found[1] == {"translation": "", "score": 0.0}


def test_columns_are_rows_turned(server) -> None:
    rows = predictions(server, {"instances": [{"text": text} for text in TEXTS]})
    for inputs in (TEXTS, {"text": TEXTS}):
        columns = predictions(server, {"signature_name": "serving_default", "inputs": inputs})
        for name, column in columns.items():
            assert column == [row[name] for row in rows]


def test_the_n_best_have_scores_and_missing_ones_are_marked(server, translator, search) -> None:
    rows = predictions(server, {"signature_name": "translate_n_best", "instances": TEXTS})
    best = translator.translate_n_best(TEXTS, **search)
    count = search.get("num_hypotheses", 1)
    for row, found in zip(rows, best, strict=True):
        missing = [""] * (count - len(found))
        assert row["translations"] == [one.text for one in found] + missing
        expected = [one.log_probability for one in found] + [LOWEST] * len(missing)
        assert row["log_probabilities"] == pytest.approx(expected, rel=1e-4)
    assert rows[1]["scores"] == [0.0] + [LOWEST] * (count - 1)


def test_given_translations_are_scored(server, translator, texts) -> None:
    sources, targets = [*texts, ""], [*texts[::-1], "hello"]
    pairs = [{"source": s, "target": t} for s, t in zip(sources, targets, strict=True)]
    rows = predictions(server, {"signature_name": "score", "instances": pairs})
    for row, one in zip(rows, translator.score(sources, targets), strict=True):
        assert row["score"] == pytest.approx(one.score, abs=1e-4)
        assert row["log_probability"] == pytest.approx(one.log_probability, abs=1e-4)


def test_encoder_states_are_kerass_and_zero_behind_the_end(server, exported, texts) -> None:
    found = predictions(server, {"signature_name": "encode", "inputs": ["", *texts]})
    states, mask = np.array(found["encoder_states"]), np.array(found["mask"])
    rows = [[*ids, 3] for ids in exported.source_tokenizer.encode(["", *texts])]
    assert mask.sum(axis=1).tolist() == [len(row) for row in rows]
    assert not states[~mask].any()
    for row, state in zip(rows, states, strict=True):
        expected = np.asarray(exported.model.encoder({"source_ids": np.array([row], np.int32)}))
        np.testing.assert_allclose(state[: len(row)], expected[0], atol=1e-4)


def test_ids_are_translated_to_ids(server, translator, exported, search) -> None:
    rows = exported.source_tokenizer.encode(["the red dog", "hello"])
    width = max(map(len, rows)) + 1
    padded = [row + [0] * (width - len(row)) for row in rows]
    found = predictions(server, {"signature_name": "translate_ids", "inputs": padded})
    best = translator.translate_ids(rows, **search)
    assert [len(row) for row in found["ids"]] == [search["max_length"]] * 2
    assert [[token for token in row if token] for row in found["ids"]] == [b[0].ids for b in best]
    assert found["score"] == pytest.approx([b[0].score for b in best], abs=1e-4)


def test_ids_behind_a_pad_do_not_count_and_impossible_ones_are_unknown(server) -> None:
    def ids(row: list[int]) -> Any:
        return predictions(server, {"signature_name": "translate_ids", "instances": [row]})

    assert ids([7, 8, 0, 9]) == ids([7, 8, 0, 0]) == ids([7, 8])
    assert ids([7, 1]) == ids([7, -5]) == ids([7, 2]) == ids([7, 3]) == ids([7, 10**6])


def test_each_row_has_options_of_its_own(server, translator, search) -> None:
    rows = [
        {"text": "the red dog", "max_length": 3, "length_penalty": 0.0, "target_prefix": ""},
        {"text": "the red dog", "max_length": 99, "length_penalty": 1.5, "target_prefix": "hello"},
        {"text": "hello", "max_length": 1, "length_penalty": 0, "target_prefix": "the house"},
        # Penalties beyond float32, and beyond all numbers.
        {"text": "hello", "max_length": 40, "length_penalty": 1e3, "target_prefix": ""},
        {"text": "hello", "max_length": 40, "length_penalty": 3e38, "target_prefix": ""},
    ]
    body = {"signature_name": "translate_with_options", "instances": rows}
    found = predictions(server, body)
    fixed = [(3, 0.0, ""), (40, 1.5, "hello"), (1, 0.0, ""), (40, 1e3, ""), (40, 3e38, "")]
    for row, prediction, (max_length, penalty, prefix) in zip(rows, found, fixed, strict=True):
        chosen = {**search, "max_length": max_length, "length_penalty": penalty}
        [[best, *_]] = translator.translate_n_best(
            [row["text"]], target_prefixes=[prefix], **chosen
        )
        assert prediction["translation"] == best.text
        assert prediction["score"] == pytest.approx(best.score, abs=1e-4)


@pytest.mark.parametrize("is_row", [True, False])
def test_an_option_that_is_left_out_is_the_servers(server, translator, search, is_row) -> None:
    def ask(**given: Any) -> dict[str, Any]:
        values: Any = [given] if is_row else {name: [one] for name, one in given.items()}
        body = {"signature_name": "translate_with_options"}
        if is_row:
            return predictions(server, {**body, "instances": values})[0]
        outputs = server.predict({**body, "inputs": values}).json()["outputs"]
        return {name: column[0] for name, column in outputs.items()}

    text = "the red dog"
    own = {"max_length": 3, "length_penalty": 0.0, "target_prefix": "hello"}
    whole = {
        "max_length": 40,
        "length_penalty": SearchOptions(**search).length_penalty,
        "target_prefix": "",
    }
    plain = {"signature_name": "translate_with_options", "instances": [text]}
    assert ask(text=text) == ask(text=text, **whole) == predictions(server, plain)[0]
    assert ask(text=text)["translation"] == translator.translate([text], **search)[0]
    for name, value in own.items():
        assert ask(text=text, **{name: value}) == ask(text=text, **{**whole, name: value})
    assert ask(text=text, sample=True, seed=3) == ask(text=text, **whole, sample=True, seed=3)
    refused = server.predict({**plain, "instances": [{"text": text, "num_beams": 2}]})
    assert refused.status_code == 400
    assert "must have text and may have max_length, length_penalty" in refused.json()["error"]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("max_length", "0", "row 1 of max_length must be an integer, at least 1, got 0"),
        ("max_length", "-1", "row 1 of max_length must be an integer, at least 1, got -1"),
        ("max_length", "2.5", "max_length must hold int32 values, got 2.5"),
        ("max_length", "1" * 4000, f"max_length must hold int32 values, got {'1' * 40}…"),
        ("max_length", "1" * 5000, "max_length must hold int32 values, got Infinity"),
        ("max_length", "NaN", "max_length must hold int32 values, got NaN"),
        ("length_penalty", "-0.5", "row 1 of length_penalty must be a finite number, at least 0"),
        ("length_penalty", "NaN", "length_penalty must hold finite float32 values, got NaN"),
        ("length_penalty", "Infinity", "must hold finite float32 values, got Infinity"),
        ("length_penalty", "-Infinity", "must hold finite float32 values, got -Infinity"),
        ("length_penalty", "1e39", "must hold finite float32 values, got 1e+39"),
        ("length_penalty", "1e999", "must hold finite float32 values, got Infinity"),
        ("length_penalty", "1" * 4000, f"must hold finite float32 values, got {'1' * 40}…"),
        ("length_penalty", "1" * 5000, "must hold finite float32 values, got Infinity"),
        ("length_penalty", "true", "must hold finite float32 values, got true"),
        ("length_penalty", '"1"', "must hold finite float32 values, got a string"),
    ],
    ids=lambda text: text[:20],
)
def test_an_option_out_of_range_is_refused_by_name(server, name, value, message) -> None:
    columns = {"max_length": "5", "length_penalty": "1", "target_prefix": '""', "text": '"hello"'}
    inputs = ", ".join(
        f'"{key}": [{good}, {value if key == name else good}]' for key, good in columns.items()
    )
    body = f'{{"signature_name": "translate_with_options", "inputs": {{{inputs}}}}}'
    response = server.predict(body.encode())
    assert response.status_code == 400
    assert message in response.json()["error"]


def test_bytes_may_come_in_base64_and_need_not_be_utf8(
    server, exported, translator, search
) -> None:
    def b64(text: bytes) -> dict[str, str]:
        return {"b64": base64.b64encode(text).decode()}

    both = predictions(server, {"instances": ["hello", b64(b"hello")]})
    assert both[0] == both[1]
    # What SentencePiece makes of broken bytes is not what Python would.
    broken = b"hello \xff\xe2\x82"
    [ids] = exported.source_tokenizer.subwords.encode([broken])
    [found] = predictions(server, {"instances": [{"text": b64(broken)}]})
    [[best, *_]] = translator.translate_ids([ids], **search)
    assert found["score"] == pytest.approx(best.score, abs=1e-4)


@pytest.mark.parametrize(
    "body",
    [{"instances": []}, {"inputs": []}, {"inputs": {"source": [], "target": []}}],
    ids=["rows", "columns", "pairs"],
)
def test_no_rows_give_no_rows(server, body) -> None:
    if isinstance(body.get("inputs"), dict):
        body["signature_name"] = "score"
    found = predictions(server, body)
    assert found == [] or set(map(str, found.values())) == {"[]"}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "JSON Parse error"),
        (b'{"instances": ["a"]', "JSON Parse error"),
        (b'{"instances": ["\xff"]}', "JSON Parse error"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"instances": [' + b"9" * 5000 + b"]}", "text must hold strings, got Infinity"),
        (b'{"instances": ["a"], "instances": ["b"]}', "the key 'instances' is given twice"),
        (b'{"instances": [{"text": "a", "text": "b"}]}', "the key 'text' is given twice"),
        ({"instances": ["a"], "instnaces": []}, "unknown key 'instnaces', expected signature_name"),
        ({"instances": ["a"], "\udfff": 1}, r"unknown key '\udfff', expected"),
        ({"instances": [{"\ud800": "a"}]}, r"must have text, got \ud800"),
        ({"inputs": {"\ud800": ["a"]}}, r"must have text, got \ud800"),
        ({"signature_name": "\ud800", "instances": ["a"]}, r'"\ud800" not found in signature def'),
        (b'{"instances": ["a"], "\xed\xa0\x80": 1}', r"unknown key '\ud800', expected"),
        ({"instances": ["a"], "k" * 9999: 1}, f"unknown key '{'k' * 1900}"),
        ([], "must be a JSON object, got a list"),
        ({}, "got neither"),
        ({"instances": ["a"], "inputs": ["a"]}, "got both"),
        ({"instances": "a"}, "'instances' must be a list, got a string"),
        ({"instances": [1]}, "text must hold strings, got 1"),
        ({"instances": [None]}, "text must hold strings, got null"),
        ({"instances": [["a"]]}, "text must hold strings, got a list"),
        ({"instances": [{"text": "a"}, "b"]}, "element 1 of 'instances' must be an object"),
        ({"instances": [{"words": "a"}]}, "must have text, got words"),
        ({"instances": [{"text": "a", "b": 1}]}, "must have text, got b, text"),
        ({"inputs": "a"}, "text must be a list in 1 levels, got a string"),
        ({"inputs": {"b64": "YQ=="}}, "text must be a list in 1 levels"),
        ({"instances": [{"b64": "?"}]}, "not base64"),
        ({"instances": [{"b64": 1}]}, "text must hold strings"),
        ({"instances": ["\ud800"]}, "half a surrogate pair"),
        ({"signature_name": 1, "instances": ["a"]}, "'signature_name' key must be a string"),
        ({"signature_name": "x", "instances": ["a"]}, '"x" not found in signature def'),
        ({"signature_name": "score", "instances": ["a"]}, "an object with source, target"),
        ({"signature_name": "score", "inputs": ["a"]}, "an object with source, target"),
        (
            {"signature_name": "score", "inputs": {"source": ["a"], "target": []}},
            "the same number of rows, got 1 of source, 0 of target",
        ),
        ({"signature_name": "translate_ids", "inputs": [[1.5]]}, "must hold int32 values, got 1.5"),
        ({"signature_name": "translate_ids", "inputs": [[2**31]]}, "must hold int32 values"),
        ({"signature_name": "translate_ids", "inputs": [[True]]}, "int32 values, got true"),
        ({"signature_name": "translate_ids", "inputs": [[5], [5, 6]]}, "must be rectangular"),
        ({"signature_name": "translate_ids", "inputs": [5]}, "2 levels, got a number at level 1"),
        ({"signature_name": "encode", "instances": ["hello " * 50]}, "row 0 of text has"),
        (
            {"signature_name": "score", "inputs": {"source": ["a"], "target": ["house " * 50]}},
            "row 0 of target has",
        ),
        ({"instances": ["a"] * 300}, "may have 256 sentences, got 300"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_is_wrong_with_a_request_is_said(server, body, message) -> None:
    response = server.predict(body)
    assert response.status_code == 400
    assert list(response.json()) == ["error"]
    assert message in response.json()["error"]


def test_unknown_models_versions_and_paths_are_not_found(server) -> None:
    url = server.rest_url
    body = {"instances": ["a"]}
    for path, message in (
        ("/v1/models/other:predict", "Servable not found for request: Latest(other)"),
        ("/v1/models/demo/versions/7:predict", "Servable not found for request: Specific(demo, 7)"),
        ("/v1/models/demo:classify", "No such path: POST /v1/models/demo:classify"),
    ):
        response = requests.post(url + path, json=body, timeout=60)
        assert (response.status_code, response.json()) == (404, {"error": message})
    assert server.get("/versions/7").status_code == 404
    assert server.get("/versions/x").status_code == 400
    response = requests.get(f"{url}/v1/models/demo:predict", timeout=60)
    assert (response.status_code, response.headers["allow"]) == (405, "POST")
    assert "Wrong method" in response.json()["error"]


def test_a_row_asks_for_as_many_hypotheses_as_the_search_has_beams(
    server, translator, search
) -> None:
    most = search.get("beam_size", 1)
    counts = [*range(1, most + 1), 1]
    rows = [{"text": TEXTS[0], "num_hypotheses": count} for count in counts]
    body = {"signature_name": "translate_n_best", "instances": rows}
    for count, found in zip(counts, predictions(server, body), strict=True):
        wanted = translator.translate_n_best(TEXTS[:1], **{**search, "num_hypotheses": count})[0]
        missing = [""] * (most - len(wanted))
        assert found["translations"] == [*(one.text for one in wanted), *missing]
    for count, message in (
        (most + 1, f"row 0: num_hypotheses must be at most {most}"),
        (0, "at le"),
    ):
        refused = server.predict({**body, "instances": [{**rows[0], "num_hypotheses": count}]})
        assert refused.status_code == 400 and message in refused.json()["error"]


def test_status_and_metadata_are_tensorflow_servings(server, search) -> None:
    status = {"error_code": "OK", "error_message": ""}
    expected = {"model_version_status": [{"version": "1", "state": "AVAILABLE", "status": status}]}
    assert server.get().json() == server.get("/versions/1").json() == expected
    metadata = server.get("/versions/1/metadata").json()
    spec = {"name": "demo", "signature_name": "", "version": "1"}
    assert metadata["model_spec"] == spec
    graphs = metadata["metadata"]["graphs"]
    assert (graphs["family"], graphs["target"]) == ("encoder-decoder", "onnxruntime")
    definitions = metadata["metadata"]["signature_def"]["signature_def"]
    assert len(definitions) == 7
    for definition in definitions.values():
        assert definition["method_name"] == "tensorflow/serving/predict"
        for tensor in (*definition["inputs"].values(), *definition["outputs"].values()):
            assert tensor["tensor_shape"]["dim"][0] == {"size": "-1", "name": ""}
    sizes = AnswerSizes(max_length=search["max_length"], model_dim=32)
    declared = server_signatures(sizes)
    assert set(definitions) == set(declared)
    for name, definition in definitions.items():
        for side in ("inputs", "outputs"):
            specs = getattr(declared[name], side)
            assert set(definition[side]) == {spec.name for spec in specs}
            for spec in specs:
                found = definition[side][spec.name]
                assert found["dtype"] == DTYPES[spec.dtype]
                dims = [int(dim["size"]) for dim in found["tensor_shape"]["dim"]]
                assert dims == [-1 if size is None else size for size in spec.shape]
    scores = definitions["translate_n_best"]["outputs"]["scores"]
    assert scores["dtype"] == "DT_FLOAT"
    # A request may ask for another number.
    assert scores["tensor_shape"]["dim"][1]["size"] == "-1"


def test_a_version_in_the_path_is_the_same_model(server) -> None:
    body = {"instances": ["hello"]}
    versioned = server.predict(body, "/versions/1:predict")
    assert versioned.json() == server.predict(body).json()


def test_health_readiness_and_metrics(server) -> None:
    assert requests.get(f"{server.rest_url}/healthz", timeout=60).json() == {"status": "alive"}
    assert requests.get(f"{server.rest_url}/readyz", timeout=60).json() == {"status": "ready"}
    name = "keras_transformer_requests_total"
    labels = {"signature": "encode", "code": "OK", "protocol": "rest"}
    before = server.metric(name, **labels)
    server.predict({"signature_name": "encode", "instances": ["hello"]})
    assert server.metric(name, **labels) == before + 1
    refused = server.metric(name, code="INVALID_ARGUMENT")
    server.predict(b"{")
    server.predict({"signature_name": "nonsense", "instances": ["hello"]})
    assert server.metric(name, code="INVALID_ARGUMENT") == refused + 2
    # What clients make up is no label.
    assert server.metric(name, signature="nonsense") == 0
    assert server.metric("keras_transformer_model_version") == 1


def test_the_description_names_every_path(server) -> None:
    description = requests.get(f"{server.rest_url}/openapi.json", timeout=60).json()
    assert description["openapi"] == "3.1.0"
    assert json.dumps(description).count('"$ref"') > 10
    for path, operations in description["paths"].items():
        asked = path.replace("{model}", "demo").replace("{version}", "1")
        for method in set(operations) - {"parameters"}:
            response = requests.request(method, server.rest_url + asked, data=b"{", timeout=60)
            assert response.status_code == (400 if method == "post" else 200)


def test_a_row_of_a_translator_is_drawn_with_its_seed(server, translator) -> None:
    drawn = {"sample": True, "temperature": 0.8, "top_k": 9, "top_p": 0.9}
    row = {"text": "the red dog", "max_length": 9, "length_penalty": 0.5, "target_prefix": ""}
    rows = [{**row, "seed": seed, **drawn} for seed in (3, 4, 3)]
    body = {"signature_name": "translate_with_options", "instances": rows}
    found = [one["translation"] for one in predictions(server, body)]
    options = {"max_length": 9, "length_penalty": 0.5, **drawn}
    assert found == [
        translator.translate(["the red dog"], seed=seed, first_place=place, **options)[0]
        for place, seed in enumerate((3, 4, 3))
    ]
    refused = server.predict({"text": "the red dog", "stop": "x"}, ":stream")
    assert refused.status_code == 400
    assert "takes no stop, got ['x']" in refused.json()["error"]
