"""OpenAI's completions of prompts."""

from collections.abc import Awaitable, Sequence
from typing import Any

from starlette.responses import Response

from keras_transformer.runtime.prompts import Prompt, Scored, TokenScore, places
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
from keras_transformer.serving.http.openai.logprobs import MOST_BEST, of_completion
from keras_transformer.serving.http.openai.search_fields import (
    MOST_TEXTS,
    MOST_TOKENS,
    SEARCH_NEUTRAL,
    SILENT,
    read_search,
)
from keras_transformer.serving.http.openai.streams import streamed

NEUTRAL = {**SEARCH_NEUTRAL, "suffix": ("",), "best_of": (1,)}
# What OpenAI's server takes where a request names none.
_TOKENS = 16


def complete(asked: Asked) -> Awaitable[Response]:
    """Answers `POST /v1/completions`."""
    completions, fields = completing(asked), asked.fields
    prompts = _read_prompts(fields)
    count = fields.integer("n", 1, least=1, most=MOST_TEXTS)
    echo = fields.flag("echo")
    streams, has_usage = read_streaming(fields)
    longest, least = completions.search.max_length, 0 if echo else 1
    most = fields.integer("max_tokens", _TOKENS, least=least, most=MOST_TOKENS, used=longest)
    options = completions.options(read_search(fields, most or None, count))
    best = fields.integer("logprobs", least=0, most=MOST_BEST)
    if streams and not most:
        raise refusal("max_tokens=0 does not go with stream: leave it out.", "max_tokens")
    scored = None if best is None else Scored(best, with_prompt=echo)
    fields.finish(SILENT, NEUTRAL)

    def read() -> list[Prompt]:
        is_text = isinstance(prompts[0], str)
        return (completions.of_texts if is_text else completions.of_ids)(prompts)

    texts = [prompt for prompt in prompts if isinstance(prompt, str)]
    generation = Generation(
        asked,
        "completions",
        completions,
        options,
        count,
        count * len(prompts),
        read,
        texts,
        scored,
        most > 0,
    )
    head = asked.head("cmpl", "text_completion")
    return (
        _stream(generation, head, echo, has_usage) if streams else _answer(generation, head, echo)
    )


async def _stream(
    generation: Generation, head: dict[str, Any], echo: bool, has_usage: bool
) -> Response:
    said: dict[int, int] = {}

    def begin(index: int) -> dict[str, Any]:
        prompt = generation.prompt_of(index).text
        said[index] = 0 if echo else len(prompt)
        # With probabilities it is a piece like the others.
        return {"text": prompt} if echo and generation.scored is None else {}

    def scores(index: int, found: Sequence[TokenScore]) -> dict[str, Any]:
        place = said[index]
        said[index] = places(found, place)[-1]
        return of_completion(found, place)

    chunks = chunked(
        generation, head, begin, lambda piece: {"text": piece}, {"text": ""}, scores, has_usage
    )
    return await streamed(generation.asked, chunks)


async def _answer(generation: Generation, head: dict[str, Any], echo: bool) -> Response:
    found, choices = await generation.results(), []
    for index, one in enumerate(found):
        prompt = generation.prompt_of(index).text
        scores = None
        if generation.scored is not None:
            scores = of_completion(one.scores, 0 if echo else len(prompt))
        choices.append(
            {
                "index": index,
                "text": prompt + one.text if echo else one.text,
                "logprobs": scores,
                "finish_reason": finish_reason(one.ending),
            }
        )
    usage = generation.usage([one.ending for one in found])
    return JsonResponse({**head, "choices": choices, "usage": usage})


def _read_prompts(fields: Fields) -> list[Any]:
    """Takes the prompts: a string or several, a row of ids or several."""
    given = fields.required("prompt")
    rows = [given] if isinstance(given, str) or _is_row(given) else given
    if not isinstance(rows, list) or not rows:
        raise wrong("prompt", "a string, a list of strings, ids or a list of rows of ids", given)
    if all(map(_is_row, rows)):
        return rows
    return [checked_text("prompt", one) for one in rows]


def _is_row(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, int) and not isinstance(one, bool) for one in value)
    )
