"""Requests choose how they are drawn and where they stop, each row for itself."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.runtime.generator import OnnxGenerator

BASE = {"max_length": 6, "length_penalty": 0.5}
DRAWN = {"sample": True, "temperature": 0.8, "top_k": 9, "top_p": 0.9, "seed": 7}


@pytest.fixture
def generator(family_artefact: Callable[[Any], Path]) -> Iterator[OnnxGenerator]:
    with OnnxGenerator(family_artefact("decoder")) as opened:
        yield opened


def rows(server: Any, *instances: dict[str, Any]) -> Any:
    body = {"signature_name": "generate_with_options", "instances": list(instances)}
    return server.predict(body)


def test_a_seed_gives_its_text_whatever_else_is_asked(
    serve: Callable[..., Any], generator: OnnxGenerator
) -> None:
    server = serve("decoder")
    [[wanted]] = generator.generate_n_best(["the red"], **BASE, **DRAWN)
    first = {"prompt": "the red", **BASE, **DRAWN}
    others = [{**first, "seed": seed, "temperature": 1.0 + seed} for seed in range(4)]
    alone = rows(server, first).json()["predictions"]
    beside = rows(server, first, *others, first).json()["predictions"]
    assert alone[0]["text"] == beside[0]["text"] == wanted.text
    assert alone[0]["stop_reason"] == wanted.stop_reason
    # A row has its place in its request, as in Python.
    [[sixth]] = generator.generate_n_best(["the red"], first_place=5, **BASE, **DRAWN)
    assert beside[5]["text"] == sixth.text
    # The other rows are searched as ever.
    searched = {"prompt": "the red", **BASE, "sample": False}
    plain = rows(server, searched).json()["predictions"][0]["text"]
    mixed = rows(server, {**searched, "seed": 0, "sample": True}, {**searched, "seed": 0})
    assert mixed.status_code == 400
    assert "row 1: seed is meant for sampling" in mixed.json()["error"]
    assert plain == generator.generate(["the red"], beam_size=2, **BASE)[0]


def test_several_samples_and_stops_are_options_of_a_row_that_asks_for_several(
    serve: Callable[..., Any], generator: OnnxGenerator
) -> None:
    server = serve("decoder")
    prompt = {"prompt": "the red", "num_hypotheses": 2}
    asked = [
        {**prompt, **DRAWN, "include_prompt": False},
        {**prompt, **DRAWN, "num_hypotheses": 1, "include_prompt": True},
    ]
    body = {"signature_name": "generate_n_best", "instances": asked}
    two, one = server.predict(body).json()["predictions"]
    [wanted] = generator.generate_n_best(
        ["the red"], include_prompt=False, max_length=6, num_hypotheses=2, **DRAWN
    )
    assert two["texts"] == [sample.text for sample in wanted]
    assert one["texts"][0].startswith("the red") and one["texts"][1] == ""
    body["instances"] = [{**asked[0], "num_hypotheses": 3}]
    refused = server.predict(body)
    assert refused.status_code == 400 and "at most 2" in refused.json()["error"]


def test_stops_and_prompts_are_options_of_a_row(
    serve: Callable[..., Any], generator: OnnxGenerator
) -> None:
    server = serve("decoder")
    [whole] = generator.generate(["the red"], include_prompt=False, beam_size=2, **BASE)
    stop = whole[2:4]
    asked = {"prompt": "the red", **BASE, "stop": [stop, ""], "include_prompt": False}
    [found] = rows(server, asked).json()["predictions"]
    [[wanted]] = generator.generate_n_best(
        ["the red"], include_prompt=False, stop=stop, beam_size=2, **BASE
    )
    assert (found["text"], found["stop_reason"]) == (wanted.text, wanted.stop_reason)
    [full] = rows(server, {**asked, "include_prompt": True}).json()["predictions"]
    assert full["text"] == "the red" + found["text"]


def test_a_stream_is_a_sample_or_ends_at_a_stop(
    serve: Callable[..., Any], generator: OnnxGenerator, events: Callable[..., Any]
) -> None:
    server = serve("decoder")
    [wanted] = generator.generate(["the red"], max_length=6, **DRAWN)
    found = events(server.predict({"text": "the red", **DRAWN}, ":stream"))
    assert "".join(data["piece"] for name, data in found if name == "message") == wanted
    assert found[-1] == ("done", {"text": wanted})
    [plain] = generator.generate(["the red"], max_length=6, include_prompt=False)
    found = events(server.predict({"text": "the red", "stop": plain[2:4]}, ":stream"))
    assert found[-1] == ("done", {"text": "the red" + plain[:2]})


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"temperature": 0.5}, "temperature is meant for sampling"),
        ({"sample": True, "temperature": 0.0}, "temperature must be finite and above 0"),
        ({"sample": True, "top_p": 1.5}, "top_p is a probability"),
        ({"sample": True, "top_k": -1}, "top_k"),
        ({"sample": True, "seed": -1}, "seed"),
        ({"sample": "yes"}, "sample"),
        ({"stop": ["a" * 300]}, "stop must hold strings of 1 to 256 characters"),
        (
            {"beams": 4},
            "length_penalty, sample, temperature, top_k, top_p, seed, stop, json_schema, regex, "
            "choices, include_prompt",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused(
    serve: Callable[..., Any], own: dict[str, Any], message: str
) -> None:
    response = rows(serve("decoder"), {"prompt": "a", **BASE, **own})
    assert response.status_code == 400
    assert message in response.json()["error"]


def test_rows_with_other_keys_are_named(serve: Callable[..., Any]) -> None:
    first = {"prompt": "a", **BASE}
    response = rows(serve("decoder"), first, {**first, "sample": True})
    assert "all elements of 'instances' must have the same keys" in response.json()["error"]


def test_an_option_that_is_left_out_is_the_servers(
    serve: Callable[..., Any], generator: OnnxGenerator
) -> None:
    server = serve("decoder")
    plain, short, drawn = (
        rows(server, {"prompt": "the red"}).json()["predictions"],
        *(
            rows(server, {"prompt": "the red", **own}).json()["predictions"]
            for own in ({"max_length": 2}, DRAWN)
        ),
    )
    body = {"prompt": "the red"}
    served = server.predict({"instances": [body]}).json()["predictions"]
    assert [one["text"] for one in plain] == [one["text"] for one in served]
    [wanted] = generator.generate(["the red"], beam_size=2, max_length=2)
    assert short[0]["text"] == wanted
    assert drawn[0]["stop_reason"] in ("eos", "length")
    refused = rows(server, {**body, "num_beams": 3})
    assert refused.status_code == 400 and "num_beams" in refused.json()["error"]
