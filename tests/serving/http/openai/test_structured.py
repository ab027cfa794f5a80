"""Completions whose texts follow a schema, an expression or choices, as clients ask for them."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests

openai = pytest.importorskip("openai", reason="the package openai is not installed")
pytest.importorskip("llguidance", reason="the package llguidance is not installed")

CHAT = [{"role": "user", "content": "Hello!"}]
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 6},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "one", "schema": SCHEMA, "strict": True}}
ASKED = {"model": "demo", "messages": CHAT, "max_tokens": 60}


@pytest.fixture(scope="module")
def client(chat_artefact: Path, start_shared: Callable[..., Any], ask: Callable[[Any], Any]) -> Any:
    return ask(start_shared(chat_artefact))


@pytest.mark.parametrize("more", [{}, {"n": 3, "temperature": 1.5, "seed": 4}], ids=str)
def test_every_chat_fulfils_its_schema(client: Any, more: dict[str, Any]) -> None:
    answer = client.chat.completions.create(**ASKED, response_format=FORMAT, **more)
    for choice in answer.choices:
        found = json.loads(choice.message.content)
        assert choice.finish_reason == "stop" and len(found["name"]) <= 6 and found["age"] <= 120


def test_a_streamed_chat_is_the_whole_one(client: Any) -> None:
    asked = {**ASKED, "response_format": FORMAT}
    [whole] = client.chat.completions.create(**asked).choices
    chunks = [chunk.choices[0] for chunk in client.chat.completions.create(**asked, stream=True)]
    assert "".join(one.delta.content or "" for one in chunks) == whole.message.content
    assert chunks[-1].finish_reason == "stop"


def test_a_completion_follows_what_each_field_says(client: Any) -> None:
    def complete(**more: Any) -> str:
        asked = {"model": "demo", "prompt": "a", "max_tokens": 60, "extra_body": more}
        return str(client.completions.create(**asked).choices[0].text)

    assert complete(regex="[0-9]{3}").isdigit()
    assert complete(choices=["yes", "no"]) in ("yes", "no")
    assert complete(structured_outputs={"choice": ["yes", "no"]}) in ("yes", "no")
    assert set(json.loads(complete(json_schema=SCHEMA))) == {"name", "age"}
    assert set(json.loads(complete(json_schema=json.dumps(SCHEMA)))) == {"name", "age"}


@pytest.mark.parametrize("prompt", ["the red", "the red ", ""])
@pytest.mark.parametrize("echo", [False, True])
def test_tokens_of_a_grammar_stand_where_its_text_has_them(
    generating: Any, ask: Callable[[Any], Any], prompt: str, echo: bool
) -> None:
    asked = {"model": "demo", "prompt": prompt, "max_tokens": 20, "echo": echo, "logprobs": 2}
    asked |= {"extra_body": {"choices": ["hello you", "hello dog"]}}
    client = ask(generating)
    [whole] = client.completions.create(**asked).choices
    assert whole.text.removeprefix(prompt * echo) in ("hello you", "hello dog")
    found = whole.logprobs
    assert "".join(found.tokens) == whole.text
    ends = itertools.accumulate(map(len, found.tokens), initial=0 if echo else len(prompt))
    assert found.text_offset == [*ends][:-1]
    streamed = [chunk.choices[0] for chunk in client.completions.create(**asked, stream=True)]
    for name in ("tokens", "text_offset", "token_logprobs"):
        rows = [row for one in streamed if one.logprobs for row in getattr(one.logprobs, name)]
        assert rows == getattr(found, name)


def test_any_object_is_an_object(client: Any) -> None:
    asked = {**ASKED, "response_format": {"type": "json_object"}, "max_tokens": 20}
    [one] = client.chat.completions.create(**asked).choices
    assert one.message.content.startswith("{")
    if one.finish_reason == "stop":
        assert isinstance(json.loads(one.message.content), dict)


def test_what_the_limit_cuts_off_is_flagged(client: Any) -> None:
    asked = {**ASKED, "max_tokens": 3, "response_format": FORMAT}
    [cut] = client.chat.completions.create(**asked).choices
    assert cut.finish_reason == "length" and cut.message.content.startswith("{")
    *_, last = client.chat.completions.create(**asked, stream=True)
    assert last.choices[0].finish_reason == "length"


@pytest.mark.parametrize(
    "more, message",
    [
        ({"response_format": {"type": "json"}}, "type must be 'text' or 'json_object'"),
        ({"response_format": {"type": "json_schema"}}, "the field 'json_schema' is missing"),
        ({"response_format": {**FORMAT, "json_schema": {"name": "a"}}}, "'schema' is missing"),
        ({"response_format": "json"}, "response_format must be an object"),
        ({"regex": "("}, "regex cannot be followed: .*unclosed group"),
        ({"regex": "a", "choices": ["b"]}, "exclude each other"),
        ({"json_schema": {"type": "strin"}}, "Invalid type: strin"),
        ({"json_schema": {"description": "a" * 40000}}, "must have 1 to 32768 characters"),
        ({"choices": []}, "choices must name 1 to 1024 texts"),
        ({"choices": "yes"}, "choices must be a list of strings"),
        ({"structured_outputs": {"grammar": "a"}}, "unknown field 'grammar'"),
        ({"regex": "a", "stop": "b"}, "stop does not go with regex"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_what_no_text_can_follow_is_refused(
    client: Any, more: dict[str, Any], message: str, stream: bool
) -> None:
    with pytest.raises(openai.BadRequestError, match=message):
        client.chat.completions.create(**ASKED, stream=stream, extra_body=more)


def test_rows_of_the_other_interface_choose_theirs(
    chat_artefact: Path, start_shared: Callable[..., Any]
) -> None:
    server = start_shared(chat_artefact)
    prompt = {"prompt": "a", "max_length": 60}
    rows = [
        {**prompt, "json_schema": json.dumps(SCHEMA), "regex": "", "choices": ["", ""]},
        {**prompt, "json_schema": "", "regex": "[0-9]{3}", "choices": ["", ""]},
        {**prompt, "json_schema": "", "regex": "", "choices": ["yes", "no"]},
        {
            **prompt,
            "json_schema": json.dumps(SCHEMA),
            "regex": "",
            "choices": ["", ""],
            "max_length": 3,
        },
    ]
    body = {"signature_name": "generate_with_options", "instances": rows}
    answer = server.predict(body)
    assert answer.status_code == 200, answer.text
    found = answer.json()["predictions"]
    assert [one["stop_reason"] for one in found] == ["eos", "eos", "eos", "length"]
    assert set(json.loads(found[0]["text"])) == {"name", "age"}
    assert found[1]["text"].isdigit() and found[2]["text"] in ("yes", "no")
    asked = {"prompt": "a", "choices": ["yes", "no"]}
    for more in ({}, {"stream": True}):
        requests.post(f"{server.rest_url}/v1/completions", json={**asked, **more}, timeout=60)
    server.predict({"instances": ["a"]})
    assert server.metric("keras_transformer_structured_requests_total", model="demo") == 3
    wrong = server.predict({**body, "instances": [{**prompt, "regex": "("}]})
    assert wrong.status_code == 400 and "unclosed group" in wrong.json()["error"]


@pytest.mark.parametrize("schema", [SCHEMA, json.dumps(SCHEMA)], ids=["object", "string"])
def test_a_schema_is_an_object_or_its_text(
    chat_artefact: Path,
    start_shared: Callable[..., Any],
    events: Callable[[Any], Any],
    schema: Any,
) -> None:
    server, name = start_shared(chat_artefact), "generate_with_options"
    row, column = {"prompt": "a", "json_schema": schema}, {"prompt": ["a"], "json_schema": [schema]}
    answers = [
        server.predict({"signature_name": name, **body})
        for body in ({"instances": [row]}, {"inputs": column})
    ]
    assert [answer.status_code for answer in answers] == [200, 200], answers[0].text
    [whole] = answers[0].json()["predictions"]
    *_, (_, streamed) = events(server.predict({"text": "a", "json_schema": schema}, ":stream"))
    for text in (whole["text"], *answers[1].json()["outputs"]["text"], streamed["text"]):
        assert set(json.loads(text)) == {"name", "age"}


def test_a_stream_of_ours_ends_with_an_error_where_it_is_cut_off(
    chat_artefact: Path, start: Callable[..., Any], events: Callable[[Any], Any]
) -> None:
    server = start(chat_artefact, {"max_length": 20})
    asked = {"text": "a", "choices": ["yes", "no"]}
    *pieces, (kind, last) = events(server.predict(asked, ":stream"))
    assert kind == "done" and last["text"] in ("yes", "no")
    assert "".join(piece["piece"] for _, piece in pieces) == last["text"]
    kind, last = events(server.predict({"text": "a", "regex": "a{100}"}, ":stream"))[-1]
    assert kind == "error" and "before they fulfilled regex" in last["error"]
    assert server.predict({"text": "a", "regex": "("}, ":stream").status_code == 400
