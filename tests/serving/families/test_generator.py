"""A served decoder continues prompts over HTTP as `OnnxGenerator` does."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import requests

from keras_transformer.runtime.generator import OnnxGenerator
from keras_transformer.runtime.generator_engine import OnnxGenerationEngine

PROMPTS = ["the red", "", "hello ", "a small house stands"]
SEARCH = {"beam_size": 2, "num_hypotheses": 2, "max_length": 6}


@pytest.fixture
def generator(family_artefact: Callable[[Any], Path]) -> Iterator[OnnxGenerator]:
    with OnnxGenerator(family_artefact("decoder")) as opened:
        yield opened


def ask(server: Any, signature: str, inputs: Any) -> Any:
    response = server.predict({"signature_name": signature, "inputs": inputs})
    assert response.status_code == 200, response.text
    return response.json()["outputs"]


def test_continues_prompts(serve: Callable[..., Any], generator: OnnxGenerator) -> None:
    server = serve("decoder")
    wanted = generator.generate_n_best(PROMPTS, **SEARCH)
    found = ask(server, "generate_n_best", PROMPTS)
    assert found["texts"] == [[one.text for one in few] for few in wanted]
    np.testing.assert_allclose(
        found["scores"], [[one.score for one in few] for few in wanted], atol=1e-4
    )
    for signature in ("serving_default", "generate"):
        best = ask(server, signature, PROMPTS)
        assert best["text"] == [few[0].text for few in wanted]


def test_each_row_has_its_own_options(serve: Callable[..., Any], generator: OnnxGenerator) -> None:
    inputs = {"prompt": PROMPTS[:3], "max_length": [1, 4, 99], "length_penalty": [0.0, 1.0, 0.5]}
    found = ask(serve("decoder"), "generate_with_options", inputs)
    for place, (length, penalty) in enumerate([(1, 0.0), (4, 1.0), (6, 0.5)]):
        own = {"max_length": length, "length_penalty": penalty}
        [[best, *_]] = generator.generate_n_best([PROMPTS[place]], **{**SEARCH, **own})
        assert found["text"][place] == best.text
        assert found["score"][place] == pytest.approx(best.score, abs=1e-4)


def test_nothing_is_written_in_the_event_loop(
    generating: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = []

    def search(*given: Any, of: Any = OnnxGenerationEngine.search, **named: Any) -> Any:
        names.append(threading.current_thread().name)
        return of(*given, **named)

    monkeypatch.setattr(OnnxGenerationEngine, "search", search)
    for _ in range(3):
        ask(generating, "generate", ["a"])
        asked = {"prompt": "a", "max_tokens": 1}
        requests.post(f"{generating.rest_url}/v1/completions", json=asked, timeout=60)
    assert len(names) == 6 and all(name.startswith("model") for name in names)


def test_scores_texts(serve: Callable[..., Any], generator: OnnxGenerator) -> None:
    found = ask(serve("decoder"), "score", PROMPTS)
    wanted = generator.score(PROMPTS)
    np.testing.assert_allclose(
        found["log_probability"], [one.log_probability for one in wanted], atol=1e-4
    )
    np.testing.assert_allclose(found["perplexity"], generator.perplexity(PROMPTS), rtol=1e-4)


def test_streams_a_continuation_and_then_the_best(
    serve: Callable[..., Any], generator: OnnxGenerator, events: Callable[..., Any]
) -> None:
    response = serve("decoder").predict({"text": "the red"}, ":stream")
    found = events(response)
    pieces = "".join(data["piece"] for name, data in found if name == "message")
    assert pieces == generator.generate(["the red"], max_length=6)[0]
    [[best, *_]] = generator.generate_n_best(["the red"], **SEARCH)
    assert found[-1] == ("done", {"text": best.text})


def test_what_it_cannot_answer_is_refused(serve: Callable[..., Any]) -> None:
    server = serve("decoder")
    for verb, body, message in (
        (":explain", {"text": "a"}, "has no answers to explain"),
        (":stream", {"text": "a", "target_prefix": "b"}, "target_prefix is for translations"),
        (
            ":stream",
            {"text": "a", "max_tokens": 5},
            "unknown key 'max_tokens', expected text, join_lines, sample, temperature, top_k, "
            "top_p, seed, stop, json_schema, regex, choices.",
        ),
        (":stream", {"text": "a", "stop": None}, "stop must be a string or a list of strings"),
        (":predict", {"instances": ["the river " * 30]}, "row 0 of prompt has"),
    ):
        response = server.predict(body, verb)
        assert response.status_code == 400
        assert message in response.json()["error"]
    assert server.predict({"examples": [{"text": "a"}]}, ":classify").status_code == 404


def test_description_and_metadata_fit_the_kind(serve: Callable[..., Any]) -> None:
    server = serve("decoder")
    names = set(server.get("/metadata").json()["metadata"]["signature_def"]["signature_def"])
    generate = {"generate", "generate_n_best", "generate_with_options", "score"}
    assert names == {"serving_default", *generate}
    paths = requests.get(f"{server.rest_url}/openapi.json", timeout=60).json()["paths"]
    assert "/v1/models/{model}:stream" in paths
    assert "/v1/models/{model}:explain" not in paths
