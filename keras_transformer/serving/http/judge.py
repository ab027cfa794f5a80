"""TensorFlow Serving's classify and regress calls over REST."""

from collections.abc import Awaitable, Callable
from typing import Any, get_args

import numpy as np
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from keras_transformer.serving.errors import refusal
from keras_transformer.serving.http.exchange import (
    BodyReader,
    JsonResponse,
    read_timeout,
    until_hang_up,
)
from keras_transformer.serving.http.json_tensors import check_keys, read_object
from keras_transformer.serving.http.predict import asked_version
from keras_transformer.serving.http.rest import MODEL_PATHS
from keras_transformer.serving.models.judgements import Judgement, judge
from keras_transformer.serving.models.service import Service

_KEYS = ("signature_name", "context", "examples")


def judge_routes(service: Service, bodies: BodyReader) -> list[Route]:
    """Returns the routes of `:classify` and `:regress`."""
    return [
        Route(f"{base}:{kind}", _endpoint(service, bodies, kind), methods=["POST"])
        for kind in get_args(Judgement)
        for base in MODEL_PATHS
    ]


def _endpoint(
    service: Service, bodies: BodyReader, kind: Judgement
) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        return await _answer(service, bodies, kind, request)

    return answer


async def _answer(
    service: Service, bodies: BodyReader, kind: Judgement, request: Request
) -> Response:
    if not any(kind in signatures for signatures in service.kinds()):
        raise HTTPException(404)
    model, version = asked_version(request.scope)
    with service.refusals("rest", model):
        timeout = read_timeout(request.scope)
        body = read_object(await bodies.read(request.scope, request.receive))
        name, texts = _read(body)
        loaded = service.find(model, version)
    with until_hang_up(request.receive):
        results = await judge(service, loaded, kind, texts, name, timeout=timeout)
    return JsonResponse({"results": results})


def _read(body: dict[str, Any]) -> tuple[str, Any]:
    """Returns the name of the signature and the texts of the examples."""
    check_keys(body, _KEYS)
    name, context, examples = (
        body.get("signature_name", ""),
        body.get("context", {}),
        body.get("examples"),
    )
    if not isinstance(name, str):
        raise refusal("signature_name must be a string.")
    if not isinstance(context, dict):
        raise refusal("context must be an object of features.")
    if not isinstance(examples, list):
        raise refusal("examples must be a list of objects, each with the feature 'text'.")
    texts = [
        _text(number, {**context, **example} if isinstance(example, dict) else example)
        for number, example in enumerate(examples)
    ]
    return name, np.array(texts, object)


def _text(number: int, example: Any) -> bytes:
    if not isinstance(example, dict) or set(example) != {"text"}:
        raise refusal(f"example {number} must be an object with the feature 'text' alone.")
    if not isinstance(example["text"], str):
        raise refusal(f"text of example {number} must be a string.")
    try:
        return example["text"].encode()
    except UnicodeEncodeError as error:
        raise refusal(f"text of example {number} has half a surrogate pair.") from error
