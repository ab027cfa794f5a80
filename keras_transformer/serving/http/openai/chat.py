"""OpenAI's completions of chats, by the model's chat template."""

from collections.abc import Awaitable
from typing import Any

from starlette.responses import Response

from keras_transformer.runtime.prompts import Scored
from keras_transformer.serving.errors import refusal
from keras_transformer.serving.http.exchange import JsonResponse
from keras_transformer.serving.http.openai.endpoint import Asked
from keras_transformer.serving.http.openai.fields import Fields, checked_text, wrong
from keras_transformer.serving.http.openai.generation import (
    Generation,
    chunked,
    completing,
    finish_reason,
    read_streaming,
)
from keras_transformer.serving.http.openai.logprobs import MOST_BEST, of_chat
from keras_transformer.serving.http.openai.search_fields import (
    MOST_TEXTS,
    MOST_TOKENS,
    SEARCH_NEUTRAL,
    SILENT,
    read_search,
)
from keras_transformer.serving.http.openai.streams import streamed

NEUTRAL: dict[str, tuple[Any, ...]] = {
    **SEARCH_NEUTRAL,
    "tools": ([],),
    "tool_choice": ("none", "auto"),
    "functions": ([],),
    "function_call": ("none", "auto"),
    "parallel_tool_calls": (True, False),
    "modalities": (["text"],),
    "audio": (),
    "moderation": (),
    "prediction": (),
    "reasoning_effort": (),
    "verbosity": (),
    "web_search_options": (),
}
# OpenAI's newer name of a system's message, which templates do not know.
_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
# What answers hold that clients send back, where nothing is in it.
_EMPTY: dict[str, tuple[Any, ...]] = {
    "refusal": (),
    "annotations": ([],),
    "audio": (),
    "function_call": (),
    "tool_calls": ([],),
}


def chat(asked: Asked) -> Awaitable[Response]:
    """Answers `POST /v1/chat/completions`."""
    completions, fields = completing(asked), asked.fields
    messages = _read_messages(fields)
    variables = fields.take("chat_template_kwargs", {})
    if not isinstance(variables, dict):
        raise wrong("chat_template_kwargs", "an object", variables)
    count = fields.integer("n", 1, least=1, most=MOST_TEXTS)
    streams, has_usage = read_streaming(fields)
    bounds = {"least": 1, "most": MOST_TOKENS, "used": completions.search.max_length}
    most = fields.integer("max_tokens", **bounds)
    most = fields.integer("max_completion_tokens", most, **bounds)
    options = completions.options(read_search(fields, most, count))
    scored = _read_scored(fields)
    fields.finish(SILENT, NEUTRAL)
    generation = Generation(
        asked,
        "chat/completions",
        completions,
        options,
        count,
        count,
        lambda: [completions.of_chat(messages, variables)],
        [message["content"] for message in messages],
        scored,
    )
    return _stream(generation, has_usage) if streams else _answer(generation)


async def _stream(generation: Generation, has_usage: bool) -> Response:
    asked = generation.asked
    chunks = chunked(
        generation,
        asked.head("chatcmpl", "chat.completion.chunk"),
        lambda index: {"delta": {"role": "assistant", "content": ""}},
        lambda piece: {"delta": {"content": piece}},
        {"delta": {}},
        lambda _, scores: of_chat(scores),
        has_usage,
    )
    return await streamed(asked, chunks)


async def _answer(generation: Generation) -> Response:
    found = await generation.results()
    choices = [
        {
            "index": index,
            "message": {"role": "assistant", "content": one.text, "refusal": None},
            "logprobs": None if generation.scored is None else of_chat(one.scores),
            "finish_reason": finish_reason(one.ending),
        }
        for index, one in enumerate(found)
    ]
    usage = generation.usage([one.ending for one in found])
    head = generation.asked.head("chatcmpl", "chat.completion")
    return JsonResponse({**head, "choices": choices, "usage": usage})


def _read_scored(fields: Fields) -> Scored | None:
    is_scored = fields.flag("logprobs")
    best = fields.integer("top_logprobs", 0, least=0, most=MOST_BEST)
    if best and not is_scored:
        raise wrong("top_logprobs", "left out without logprobs", best)
    return Scored(best) if is_scored else None


def _read_messages(fields: Fields) -> list[dict[str, str]]:
    given = fields.required("messages")
    if not isinstance(given, list) or not given:
        raise wrong("messages", "a list of messages", given)
    return [_read_message(f"messages[{number}]", one) for number, one in enumerate(given)]


def _read_message(name: str, given: Any) -> dict[str, str]:
    if not isinstance(given, dict):
        raise wrong(name, "an object with role and content", given)
    within = Fields(given)
    role = within.required("role")
    if role in ("tool", "function"):
        raise refusal(f"{name} is the answer of a tool: tools are not supported.", name)
    if not isinstance(role, str) or role not in _ROLES:
        raise wrong(f"{name}.role", " or ".join(_ROLES), role)
    found = {"role": _ROLES[role], "content": _read_content(f"{name}.content", within)}
    if "name" in within:
        found["name"] = within.text("name")
    within.finish((), _EMPTY)
    return found


def _read_content(name: str, within: Fields) -> str:
    """Returns a message's text; parts of it stand in lines of their own."""
    content = within.take("content", "")
    if not isinstance(content, list):
        return checked_text(name, content)
    texts = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind != "text":
            raise refusal(f"{name} must hold parts of the type 'text' alone, got {kind!r}.", name)
        texts.append(checked_text(name, part.get("text")))
    return "\n".join(texts)
