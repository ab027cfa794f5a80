"""OpenAI's embeddings, of encoders."""

import base64
from collections.abc import Awaitable
from typing import Any

import numpy as np
import numpy.typing as npt
from starlette.responses import Response

from keras_transformer.artefact.signatures import Signature
from keras_transformer.serving.errors import refusal
from keras_transformer.serving.http.exchange import JsonResponse
from keras_transformer.serving.http.openai.endpoint import Asked, cannot
from keras_transformer.serving.http.openai.fields import Fields
from keras_transformer.serving.http.openai.search_fields import SILENT
from keras_transformer.serving.models.arrays import texts_of
from keras_transformer.serving.models.outputs import strings
from keras_transformer.serving.models.rows import Arrays
from keras_transformer.serving.models.served import Reading

_EMBED, _WITH_PROMPT = "embed", "embed_with_prompt"


def embed(asked: Asked) -> Awaitable[Response]:
    """Answers `POST /v1/embeddings`."""
    model, fields = asked.loaded.model, asked.fields
    if not isinstance(model, Reading) or _EMBED not in model.signatures:
        raise cannot(asked.loaded, "give no vectors")
    texts = _read_input(fields)
    form = fields.choice("encoding_format", ("float", "base64"), "float")
    size = fields.integer("dimensions", least=1, most=2**31)
    prompt = fields.text("prompt_name")
    fields.finish(SILENT, {})
    signature, inputs = model.signatures[_EMBED], {"text": strings(texts)}
    if prompt is not None:
        if _WITH_PROMPT not in model.signatures:
            raise refusal("the model has no prompts: leave prompt_name out.", "prompt_name")
        signature = model.signatures[_WITH_PROMPT]
        inputs["prompt_name"] = strings([prompt] * len(texts))
    width = signature.outputs[0].shape[1]
    if size is not None and width is not None and size > width:
        raise refusal(f"dimensions must be at most {width}, got {size}.", "dimensions")
    return _answer(asked, model, signature, inputs, size, form == "base64")


async def _answer(
    asked: Asked,
    model: Reading,
    signature: Signature,
    inputs: Arrays,
    size: int | None,
    in_base64: bool,
) -> Response:
    texts = texts_of(inputs, "text")
    outputs, tokens = await asked.outputs("embeddings", model, signature, inputs, texts)
    vectors = _shortened(outputs["vector"], size)
    data = [
        {
            "object": "embedding",
            "index": index,
            "embedding": _in_base64(vector) if in_base64 else vector.tolist(),
        }
        for index, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return JsonResponse(
        {"object": "list", "data": data, "model": asked.loaded.name, "usage": usage}
    )


def _read_input(fields: Fields) -> list[str]:
    given = fields.peek("input")
    if isinstance(given, list) and any(isinstance(one, int | list) for one in given):
        raise refusal(
            "input holds ids of tokens, which are those of OpenAI's models in most clients: give "
            "texts (LangChain's OpenAIEmbeddings does with check_embedding_ctx_length=False).",
            "input",
        )
    return fields.texts("input")


def _shortened(vectors: npt.NDArray[Any], size: int | None) -> npt.NDArray[Any]:
    """Returns the first numbers of vectors, which have the length 1 then."""
    if size is None or size == vectors.shape[1]:
        return vectors
    short = vectors[:, :size]
    return short / np.maximum(np.linalg.norm(short, axis=1, keepdims=True), 1e-12)


def _in_base64(vector: npt.NDArray[Any]) -> str:
    return base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")
