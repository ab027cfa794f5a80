"""`POST /v1/chat/completions` answers chats by the template that a model was imported with."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.runtime.generator import OnnxGenerator
from keras_transformer.runtime.prompts import PromptContinuer

openai = pytest.importorskip("openai", reason="the package openai is not installed")

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
REFERENCE = json.loads((FIXTURES / "chats" / "reference.json").read_text("utf-8"))
CHAT = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hello!"}]


@pytest.fixture(scope="module")
def client(chat_artefact: Path, start_shared: Callable[..., Any], ask: Callable[[Any], Any]) -> Any:
    return ask(start_shared(chat_artefact))


@pytest.fixture(scope="module")
def wanted(chat_artefact: Path) -> str:
    """What the generator writes behind the rendered chat."""
    with OnnxGenerator(chat_artefact) as generator:
        continuer = PromptContinuer(generator.engine, generator.text_ids[0])
        rendered = "".join(
            f"<|start_header_id|>{one['role']}<|end_header_id|>\n\n{one['content']}<|eot_id|>"
            for one in CHAT
        )
        rendered = f"<|begin_of_text|>{rendered}<|start_header_id|>assistant<|end_header_id|>\n\n"
        [(best, _)] = continuer.search(
            [continuer.of_chat(rendered)], generator.search_options(max_length=9)
        )
    assert best.text
    return best.text


def test_answers_a_chat(client: Any, wanted: str) -> None:
    answer = client.chat.completions.create(model="demo", messages=CHAT, max_tokens=9)
    [choice] = answer.choices
    assert (choice.message.role, choice.message.content) == ("assistant", wanted)
    assert answer.object == "chat.completion" and answer.usage.total_tokens > 9


def test_a_run_keeps_its_template_in_both_exports(chat_artefact: Path, tmp_path: Path) -> None:
    from keras_transformer.export import export_pretrained
    from keras_transformer.pretrained.recognise import read_pretrained

    again = export_pretrained(chat_artefact.parent / "run", tmp_path / "out", format="huggingface")
    read = read_pretrained(again)
    assert read.chat is not None and read.chat.template == REFERENCE["templates"]["llama"]
    assert read.search["stop_tokens"] == [342]
    ids = json.loads((again / "generation_config.json").read_text("utf-8"))["eos_token_id"]
    assert ids == [341, 342]


def test_a_stream_has_the_same_text(client: Any, wanted: str) -> None:
    asked = {"model": "demo", "messages": CHAT, "max_completion_tokens": 9, "n": 2}
    whole = client.chat.completions.create(**asked, temperature=0)
    *chunks, last = client.chat.completions.create(
        **asked, temperature=0, stream=True, stream_options={"include_usage": True}
    )
    for index in (0, 1):
        own = [chunk.choices[0] for chunk in chunks if chunk.choices[0].index == index]
        assert own[0].delta.role == "assistant"
        assert "".join(one.delta.content or "" for one in own) == wanted
        assert own[-1].finish_reason == whole.choices[index].finish_reason
    assert last.choices == [] and last.usage == whole.usage
    assert {chunk.id for chunk in chunks} == {last.id}


def test_an_answer_goes_back_as_it_came(client: Any) -> None:
    answer = client.chat.completions.create(model="demo", messages=CHAT, max_tokens=3)
    before = [*CHAT, answer.choices[0].message.model_dump(), {"role": "user", "content": "And?"}]
    longer = client.chat.completions.create(model="demo", messages=before, max_tokens=3)
    assert longer.usage.prompt_tokens > answer.usage.prompt_tokens


def test_parts_and_developers_are_texts_and_systems(client: Any) -> None:
    parts = [{"type": "text", "text": "Be"}, {"type": "text", "text": "kind."}]
    found = [
        client.chat.completions.create(
            model="demo", messages=[message, *CHAT[1:]], max_tokens=9
        ).model_dump(include={"choices", "usage"})
        for message in (
            {"role": "developer", "content": parts},
            {"role": "system", "content": "Be\nkind."},
        )
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("given", "param", "message"),
    [
        ({"messages": []}, "messages", "a list of messages"),
        ({"messages": [{"content": "a"}]}, "role", "the field 'role' is missing"),
        ({"messages": [{"role": "me", "content": "a"}]}, "messages[0].role", "system or"),
        ({"messages": [{"role": "tool", "content": "a"}]}, "messages[0]", "tools are not"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
            "messages[0].content",
            "parts of the type 'text' alone, got 'image_url'",
        ),
        ({"tools": [{"type": "function"}]}, "tools", "tools is not supported here"),
        ({"response_format": {"type": "xml"}}, "type", "'json_object' or 'json_schema', got 'xml'"),
        ({"stream_options": {"include_usage": True}}, "stream_options", "left out without"),
    ],
)
def test_what_it_cannot_do_is_refused(
    client: Any, given: dict[str, Any], param: str, message: str
) -> None:
    with pytest.raises(openai.BadRequestError, match=message) as caught:
        client.chat.completions.create(**{"model": "demo", "messages": CHAT, **given})
    assert caught.value.param == param


def test_what_asks_for_nothing_is_taken(client: Any) -> None:
    asked = {"tools": [], "tool_choice": "none", "response_format": {"type": "text"}}
    more = {"store": False, "metadata": {}, "reasoning_effort": None, "logprobs": False}
    answer = client.chat.completions.create(
        model="demo", messages=CHAT, max_tokens=1, **asked, **more
    )
    assert answer.choices[0].finish_reason in ("stop", "length")


def test_tokens_come_with_their_probabilities(client: Any, wanted: str) -> None:
    answer = client.chat.completions.create(
        model="demo", messages=CHAT, max_tokens=9, logprobs=True, top_logprobs=3
    )
    rows = answer.choices[0].logprobs.content
    assert "".join(row.token for row in rows) == wanted
    for row in rows:
        assert row.logprob == pytest.approx(row.top_logprobs[0].logprob)
        assert len(row.top_logprobs) == 3
    chunks = client.chat.completions.create(
        model="demo", messages=CHAT, max_tokens=9, logprobs=True, top_logprobs=3, stream=True
    )
    said = [chunk.choices[0].logprobs for chunk in chunks]
    assert [row for one in said if one for row in one.content] == rows
