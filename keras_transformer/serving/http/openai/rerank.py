"""Reranking in the form of Cohere's and Jina's APIs, by cross-encoders."""

import math
from collections.abc import Awaitable
from typing import Any

from starlette.responses import Response

from keras_transformer.serving.http.exchange import JsonResponse
from keras_transformer.serving.http.openai.endpoint import Asked, cannot
from keras_transformer.serving.http.openai.fields import Fields, checked_text, wrong
from keras_transformer.serving.http.openai.search_fields import SILENT
from keras_transformer.serving.models.outputs import strings
from keras_transformer.serving.models.served import Reading
from keras_transformer.understanding.results import best_first

_PAIRS = "regress_pairs"
NEUTRAL: dict[str, tuple[Any, ...]] = {
    "rank_fields": (["text"],),
    "max_chunks_per_doc": (),
    "max_tokens_per_doc": (),
    "relevant_spans": ({"mode": "disabled"},),
    "truncation": (),
    "priority": (0,),
}


def rerank(asked: Asked) -> Awaitable[Response]:
    """Answers `POST /v1/rerank` and `/v2/rerank`."""
    model, fields = asked.loaded.model, asked.fields
    if not isinstance(model, Reading) or _PAIRS not in model.signatures:
        raise cannot(asked.loaded, "give no numbers to pairs of texts")
    query = checked_text("query", fields.required("query"))
    documents = _read_documents(fields)
    top = fields.integer("top_n", len(documents), least=1, most=2**31)
    has_documents = fields.flag("return_documents")
    fields.finish(SILENT, NEUTRAL)
    return _answer(asked, model, query, documents, top, has_documents)


async def _answer(
    asked: Asked,
    model: Reading,
    query: str,
    documents: list[str],
    top: int,
    has_documents: bool,
) -> Response:
    signature = model.signatures[_PAIRS]
    first, second = (spec.name for spec in signature.inputs)
    inputs = {first: strings([query] * len(documents)), second: strings(documents)}
    texts = [query, *documents]
    # The query is read with each of them.
    outputs, tokens = await asked.outputs("rerank", model, signature, inputs, texts, is_quick=False)
    values = outputs["value"].tolist()
    scores = values if model.gives_shares else [_sigmoid(value) for value in values]
    results = []
    for one in best_first(documents, scores)[:top]:
        document = {"document": {"text": one.text}} if has_documents else {}
        results.append({"index": one.index, "relevance_score": one.score, **document})
    head = asked.head("rerank", "list")
    return JsonResponse(
        {
            **{name: head[name] for name in ("id", "object", "model")},
            "results": results,
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
            "meta": {"api_version": {"version": "2"}, "billed_units": {"search_units": 1}},
        }
    )


def _read_documents(fields: Fields) -> list[str]:
    given = fields.required("documents")
    if not isinstance(given, list) or not given:
        raise wrong("documents", "a list of texts", given)
    texts = [one.get("text") if isinstance(one, dict) else one for one in given]
    return [checked_text(f"documents[{place}]", text) for place, text in enumerate(texts)]


def _sigmoid(value: float) -> float:
    # The exponential of a number far below 0 is 0, that of one far above overflows.
    if value >= 0:
        return 1 / (1 + math.exp(-value))
    return math.exp(value) / (1 + math.exp(value))
