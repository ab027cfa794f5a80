"""Translations of texts in OpenAI's form, by encoder-decoders.

OpenAI has no such path. This one takes the fields `target_language` and `source_language` of vLLM's
proposal of `/v1/translations`, and its answers have the form of embeddings, a text for each input.
"""

from collections.abc import Awaitable

from starlette.responses import Response

from keras_transformer.serving.errors import refusal
from keras_transformer.serving.http.exchange import JsonResponse
from keras_transformer.serving.http.openai.endpoint import Answer, Asked, cannot
from keras_transformer.serving.http.openai.search_fields import SILENT
from keras_transformer.serving.http.translators.directions import Direction, Directions
from keras_transformer.serving.http.translators.translating import FORMATS, translate
from keras_transformer.serving.models.served import Translating


def translations(directions: Directions) -> Answer:
    """Returns what answers `POST /v1/translations`."""

    def answer(asked: Asked) -> Awaitable[Response]:
        model = asked.loaded.model
        if not isinstance(model, Translating):
            raise cannot(asked.loaded, "do not translate")
        fields = asked.fields
        texts = fields.texts("input")
        source, target = (fields.text(f"{side}_language", "") for side in ("source", "target"))
        form = fields.choice("format", FORMATS, "text")
        fields.finish(SILENT, {"stream": (False,), "n": (1,)})
        direction = directions.of(asked.loaded, model, source, target)
        if isinstance(direction, str):
            raise refusal(direction)
        return _answer(asked, direction, texts, form)

    return answer


async def _answer(asked: Asked, direction: Direction, texts: list[str], form: str) -> Response:
    found = await translate(
        asked.service,
        direction,
        texts,
        form=form,
        name="translations",
        timeout=asked.timeout,
        waiting=asked.waiting,
    )
    data = [
        {"object": "translation", "index": index, "text": text}
        for index, [text] in enumerate(found.texts)
    ]
    usage = {
        "prompt_tokens": found.read,
        "completion_tokens": found.written,
        "total_tokens": found.read + found.written,
    }
    return JsonResponse(
        {"object": "list", "data": data, "model": asked.loaded.name, "usage": usage}
    )
