"""`POST /v1/translations` translates in OpenAI's form, and translators do nothing else of it."""

from collections.abc import Callable
from typing import Any

import pytest
import requests

from keras_transformer.runtime.translator import OnnxTranslator

TEXTS = ["hello you", "the red house"]


@pytest.fixture(scope="module")
def server(exported: Any, start_shared: Callable[..., Any]) -> Any:
    return start_shared(exported.path, language_pairs=("en-es",))


def post(server: Any, path: str = "/v1/translations", **given: Any) -> requests.Response:
    return requests.post(server.rest_url + path, json={"model": "demo", **given}, timeout=60)


def test_translates(server: Any, translator: OnnxTranslator) -> None:
    answer = post(server, input=TEXTS, target_language="es").json()
    wanted = translator.translate(TEXTS, max_length=40)
    assert [one["text"] for one in answer["data"]] == wanted
    read = sum(len(ids) + 1 for ids in translator.text_ids[0].encode(TEXTS))
    assert answer["usage"]["prompt_tokens"] == read
    assert answer["usage"]["completion_tokens"] > len(TEXTS)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"input": [1]}, "input must be a string, got 1"),
        ({"input": "a", "target_language": "de"}, "demo translates from en to es, not 'de'"),
        ({"input": "a", "stream": True}, "stream is not supported"),
        ({"input": "a", "format": "xml"}, "'text' or 'html'"),
    ],
)
def test_what_it_cannot_do_is_refused(server: Any, given: dict[str, Any], message: str) -> None:
    response = post(server, **given)
    assert response.status_code == 400 and message in response.json()["error"]["message"]


def test_a_translator_does_not_chat(server: Any) -> None:
    given = {"messages": [{"role": "user", "content": "a"}]}
    error = post(server, "/v1/chat/completions", **given).json()["error"]
    assert "neither complete texts nor chat: it answers /v1/translations" in error["message"]


def test_a_generator_does_not_translate(generating: Any) -> None:
    error = post(generating, input="a").json()["error"]
    assert "do not translate: it answers /v1/completions and /v1/models/demo" in error["message"]
