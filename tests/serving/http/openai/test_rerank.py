"""`/v1/rerank` and `/v2/rerank` rank as `OnnxEncoder.rerank` does."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import requests

from keras_transformer.runtime.encoder import OnnxEncoder

QUERY, TEXTS = "red clothes", ["a dog", "the red shirt", "hello", "a small house"]
ASKED = {"model": "demo", "query": QUERY, "documents": TEXTS}


@pytest.fixture(scope="module")
def server(family_artefact: Callable[[Any], Path], start_shared: Callable[..., Any]) -> Any:
    return start_shared(family_artefact("regression"), search={}, max_source_length=18)


@pytest.fixture(scope="module")
def encoder(family_artefact: Callable[[Any], Path]) -> Iterator[OnnxEncoder]:
    with OnnxEncoder(family_artefact("regression")) as opened:
        yield opened


def post(server: Any, path: str = "/v1/rerank", **given: Any) -> requests.Response:
    return requests.post(server.rest_url + path, json={**ASKED, **given}, timeout=60)


@pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank"])
def test_ranks_documents(server: Any, encoder: OnnxEncoder, path: str) -> None:
    answer = post(server, path).json()
    wanted = encoder.rerank(QUERY, TEXTS)
    assert [one["index"] for one in answer["results"]] == [one.index for one in wanted]
    scores = [one["relevance_score"] for one in answer["results"]]
    np.testing.assert_allclose(scores, [1 / (1 + np.exp(-one.score)) for one in wanted], atol=1e-5)
    counts = encoder.text_lengths([QUERY, *TEXTS])
    assert answer["usage"]["total_tokens"] == 4 * (counts[0] + 3) + sum(counts[1:])


def test_the_best_come_with_their_texts(server: Any, encoder: OnnxEncoder) -> None:
    documents = [{"text": text} for text in TEXTS]
    answer = post(server, top_n=2, return_documents=True, documents=documents).json()
    texts = [one["document"]["text"] for one in answer["results"]]
    assert texts == [one.text for one in encoder.rerank(QUERY, TEXTS, top_n=2)]


@pytest.fixture(scope="module", params=["Client", "ClientV2"])
def cohere_client(server: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    cohere = pytest.importorskip("cohere", reason="the package cohere is not installed")
    with getattr(cohere, request.param)("-", base_url=server.rest_url, max_retries=0) as client:
        yield client


def test_coheres_client_runs_unchanged(cohere_client: Any, encoder: OnnxEncoder) -> None:
    answer = cohere_client.rerank(**ASKED, top_n=3)
    wanted = encoder.rerank(QUERY, TEXTS, top_n=3)
    assert [one.index for one in answer.results] == [one.index for one in wanted]
    assert all(0 <= one.relevance_score <= 1 for one in answer.results)
    assert answer.id and answer.meta.billed_units.search_units == 1


def test_coheres_client_reads_errors(cohere_client: Any) -> None:
    from cohere.errors import BadRequestError, NotFoundError

    with pytest.raises(BadRequestError, match="a list of texts"):
        cohere_client.rerank(model="demo", query=QUERY, documents=[])
    with pytest.raises(NotFoundError, match="no model 'rerank-v3.5' is served"):
        cohere_client.rerank(model="rerank-v3.5", query=QUERY, documents=TEXTS)


@pytest.mark.parametrize(
    ("given", "param", "message"),
    [
        ({"query": None}, "query", "the field 'query' is missing"),
        ({"documents": []}, "documents", "a list of texts"),
        ({"documents": ["a", 1]}, "documents[1]", "a string, got 1"),
        ({"top_n": 0}, "top_n", "from 1"),
        ({"documents": ["the river " * 30]}, None, "more than the limit"),
        ({"max_tokens_per_doc": 9}, "max_tokens_per_doc", "is not supported"),
        ({"models": "a"}, "models", "unknown field 'models'"),
    ],
)
def test_what_it_cannot_do_is_refused(
    server: Any, given: dict[str, Any], param: str | None, message: str
) -> None:
    response = post(server, **given)
    error = response.json()["error"]
    assert response.status_code == 400 and error["param"] == param
    assert message in error["message"]


def test_a_model_that_gives_no_numbers_is_refused(generating: Any) -> None:
    error = post(generating).json()["error"]
    assert error["message"].startswith("models such as demo give no numbers to pairs of texts")
