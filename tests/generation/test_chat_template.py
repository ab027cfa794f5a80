"""Chats become the texts and ids that Hugging Face's `apply_chat_template` makes of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.generation.chat_template import ChatError, ChatTemplate
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.huggingface.llama_vocabulary import llama_vocabulary
from keras_transformer.text.tokenizer import Tokenizer

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
REFERENCE = json.loads((FIXTURES / "chats" / "reference.json").read_text("utf-8"))
CASES = REFERENCE["tokenizer_json"]
USER = [{"role": "user", "content": "Hello!"}]


def template_of(case: dict[str, Any]) -> ChatTemplate:
    return ChatTemplate(REFERENCE["templates"][case["template"]], case["tokens"])


def check(case: dict[str, Any], tokenizer: Tokenizer) -> None:
    rendered = template_of(case).render(case["messages"], case["variables"])
    assert rendered == case["rendered"]
    assert tokenizer.subwords.encode_marked(rendered) == case["ids"]


@pytest.mark.parametrize("case", [case for case in CASES if "error" not in case])
def test_chats_become_their_texts_and_ids(case: dict[str, Any]) -> None:
    check(case, Tokenizer((FIXTURES / "chats" / "tokenizer.json").read_bytes()))


@pytest.mark.parametrize("case", REFERENCE["sentencepiece"])
def test_a_sentencepiece_model_reads_marks_alike(case: dict[str, Any]) -> None:
    path = FIXTURES / "stacks" / "llama_sentencepiece"
    config = json.loads((path / "config.json").read_text("utf-8"))
    check(case, llama_vocabulary(path, Fields(path / "config.json", config)))


@pytest.mark.parametrize("case", [case for case in CASES if "error" in case])
def test_what_a_template_refuses_is_said(case: dict[str, Any]) -> None:
    with pytest.raises(ChatError, match=case["error"]):
        template_of(case).render(case["messages"])


@pytest.mark.parametrize(
    "text",
    [
        "{{ messages.__class__ }}{{ messages.__class__.mro() }}",
        "{% set ns = namespace() %}{% set ns.__x = 1 %}",
        "{{ messages.append(1) }}",
        "{{ dict.__globals__ }}{{ dict.__globals__.x }}",
        "{% if %}",
    ],
)
def test_what_leaves_the_sandbox_fails(text: str) -> None:
    with pytest.raises(ChatError, match="the model's chat template failed"):
        ChatTemplate(text).render(USER)


GROWS = (
    "{{% set ns = namespace(x='a') %}}{{% for a in range(60) %}}{{% set ns.x = {} %}}{{% endfor %}}"
)
LONG = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}"
DEEP = "{% macro f(n) %}{% if n %}{{ f(n-1) ~ f(n-1) }}{% endif %}{% endmacro %}{{ f(50) }}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LONG, "it takes more than 200000 steps"),
        (DEEP, "it takes more than 200000 steps"),
        (GROWS.format("ns.x ~ ns.x"), "it takes more than 200000 steps"),
        (GROWS.format("[ns.x, ns.x] | join"), "it takes more than 200000 steps"),
        ("{{ 9 ** (9 ** 9) }}", "what [*][*] gives is too large"),
        ("{{ 10 ** 9 * messages[0].content }}", "what [*] gives is too large"),
    ],
)
def test_what_would_keep_a_server_busy_fails(text: str, message: str) -> None:
    with pytest.raises(ChatError, match=message):
        ChatTemplate(text).render(USER)


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(ChatError, match="surrogates not allowed"):
        ChatTemplate("{{ system }}").render(USER, {"system": "\ud800"})


def test_a_template_may_multiply_and_look_at_its_loops() -> None:
    text = (
        "{{ 2 * 'a' }}{{ 2 ** 3.0 }}{% for m in messages %}{{ loop.last, loop.length }}{% endfor %}"
    )
    assert ChatTemplate(text).render(USER) == "aa8.0(True, 1)"


def test_json_holds_all_of_a_template() -> None:
    template = ChatTemplate("{{ bos_token }}é", {"bos_token": "<s>"})
    assert ChatTemplate.from_json(template.to_json()) == template


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"template": 1, "tokens": {}}', "\xff"])
def test_what_is_no_template_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="it is not a chat template"):
        ChatTemplate.from_json(text)


def test_no_prompt_begins_an_answer_if_none_is_wanted() -> None:
    template = ChatTemplate("{{ messages[0].content }}{% if add_generation_prompt %}>{% endif %}")
    assert template.render(USER) == "Hello!>"
    assert template.render(USER, {"add_generation_prompt": False}) == "Hello!"
