"""OpenAI's completions of prompts."""

from typing import Any

from starlette.responses import Response

from keras_transformer.runtime.prompts import Ending, Prompt
from keras_transformer.serving.http.exchange import JsonResponse
from keras_transformer.serving.http.openai.endpoint import Asked
from keras_transformer.serving.http.openai.fields import Fields, checked_text, wrong
from keras_transformer.serving.http.openai.search_fields import NEUTRAL, SILENT, read_search
from keras_transformer.serving.models.rows import Request
from keras_transformer.serving.models.served import completing

_NEUTRAL = {**NEUTRAL, "suffix": ("",), "best_of": (1,), "stream": (False,)}
_MOST_CHOICES = 128
# What OpenAI's server takes where a request names none.
_TOKENS = 16


async def complete(asked: Asked) -> Response:
    """Answers `POST /v1/completions`."""
    completions, fields = completing(asked.loaded.name, asked.loaded.model), asked.fields
    prompts = read_prompts(fields)
    count = fields.integer("n", 1, least=1, most=_MOST_CHOICES)
    echo = fields.flag("echo")
    most = fields.integer("max_tokens", _TOKENS, least=1, most=2**31)
    options = completions.options(read_search(fields, most))
    fields.finish(SILENT, _NEUTRAL)
    read: list[Prompt] = []

    def rows() -> Request:
        is_text = isinstance(prompts[0], str)
        read.extend((completions.of_texts if is_text else completions.of_ids)(prompts))
        return Request(completions.rows(read, options, count))

    _, found = await asked.service.run(
        asked.loaded,
        "completions",
        rows,
        completions.run,
        texts=[prompt for prompt in prompts if isinstance(prompt, str)],
        timeout=asked.timeout,
        waiting=asked.waiting,
    )
    choices = [
        {
            "index": index,
            "text": (read[index // count].text if echo else "") + best.text,
            "logprobs": None,
            "finish_reason": finish_reason(ending),
        }
        for index, (best, ending) in enumerate(found)
    ]
    answer = {**asked.head("cmpl", "text_completion"), "choices": choices}
    return JsonResponse({**answer, "usage": usage(read, [ending for _, ending in found])})


def read_prompts(fields: Fields) -> list[Any]:
    """Takes the prompts: a string or several, a row of ids or several."""
    given = fields.required("prompt")
    rows = [given] if isinstance(given, str) or _is_row(given) else given
    if not isinstance(rows, list) or not rows:
        raise wrong("prompt", "a string, a list of strings, ids or a list of rows of ids", given)
    if all(map(_is_row, rows)):
        return rows
    return [checked_text("prompt", one) for one in rows]


def finish_reason(ending: Ending) -> str:
    """Returns why a completion ended, in OpenAI's words."""
    return "length" if ending.reason == "length" else "stop"


def usage(prompts: list[Prompt], endings: list[Ending]) -> dict[str, int]:
    """Returns the numbers of tokens read and generated, the first and the end token included."""
    read, generated = sum(map(len, prompts)), sum(ending.tokens for ending in endings)
    return {
        "prompt_tokens": read,
        "completion_tokens": generated,
        "total_tokens": read + generated,
    }


def _is_row(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, int) and not isinstance(one, bool) for one in value)
    )
