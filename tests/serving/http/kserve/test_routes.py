"""KServe's second protocol answers as `:predict` does; bodies are as Triton's HTTP client sends
them with `binary_data=False`.
"""

from typing import Any

import pytest
import requests

PROMPTS = ["the red", "we see"]
TEXTS = {"name": "prompt", "shape": [2], "datatype": "BYTES", "data": PROMPTS}


def post(server: Any, path: str = "/infer", **asked: Any) -> requests.Response:
    body = {"inputs": [TEXTS], "parameters": {"binary_data_output": True}, **asked}
    return requests.post(f"{server.rest_url}/v2/models/demo{path}", json=body, timeout=60)


def get(server: Any, path: str) -> requests.Response:
    return requests.get(f"{server.rest_url}/v2{path}", timeout=60)


def test_a_model_answers_as_it_predicts(generating: Any) -> None:
    predictions = generating.predict({"instances": PROMPTS}).json()["predictions"]
    found = post(generating).json()
    assert (found["model_name"], found["model_version"]) == ("demo", "1")
    text, score = found["outputs"]
    wanted = {"name": "text", "datatype": "BYTES", "shape": [2]}
    assert text == {**wanted, "data": [one["text"] for one in predictions]}
    assert score["datatype"] == "FP32"
    assert score["data"] == pytest.approx([one["score"] for one in predictions], abs=1e-5)


def test_a_signature_is_named_with_inputs_of_every_type(generating: Any) -> None:
    options = [
        ("max_length", "INT32", [9, 3], [2]),
        ("sample", "BOOL", [True, True], [2]),
        ("temperature", "FP32", [0.5, 2.0], [2]),
        ("seed", "INT64", [1, 2], [2]),
        ("stop", "BYTES", ["x", "", "y", ""], [2, 2]),
    ]
    rows = [
        {"prompt": prompt, **{name: data[place] for name, _, data, _ in options[:4]}, "stop": [one]}
        for place, (prompt, one) in enumerate(zip(PROMPTS, "xy", strict=True))
    ]
    name = "generate_with_options"
    body = {"signature_name": name, "instances": rows}
    wanted = [one["text"] for one in generating.predict(body).json()["predictions"]]
    tensors = [
        {"name": name, "datatype": kind, "data": data, "shape": shape}
        for name, kind, data, shape in options
    ]
    asked = {"id": "7", "parameters": {"signature_name": name}, "outputs": [{"name": "text"}]}
    found = post(generating, "/versions/1/infer", inputs=[TEXTS, *tensors], **asked).json()
    assert found["id"] == "7" and [one["name"] for one in found["outputs"]] == ["text"]
    assert found["outputs"][0]["data"] == wanted


def test_the_server_and_its_models_say_what_they_are(generating: Any) -> None:
    for path in ("/health/live", "/health/ready", "/models/demo/ready"):
        assert get(generating, path).status_code == 200
    assert get(generating, "").json()["extensions"] == []
    found = get(generating, "/models/demo/versions/1").json()
    assert found["versions"] == ["1"]
    assert found["inputs"] == [{"name": "prompt", "datatype": "BYTES", "shape": [-1]}]


def test_errors_have_the_protocols_form(generating: Any) -> None:
    missing = requests.post(f"{generating.rest_url}/v2/models/gpt/infer", json={}, timeout=60)
    assert missing.status_code == 400 and "'inputs' is missing" in missing.json()["error"]
    assert get(generating, "/models/gpt/ready").status_code == 404
    refused = post(generating, outputs=[{"name": "x"}])
    assert refused.status_code == 400
    assert refused.json() == {"error": "there is no output 'x': serving_default has text, score."}
