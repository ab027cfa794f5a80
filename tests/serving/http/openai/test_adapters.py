"""Requests name an adapter as their model."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from keras_transformer import OnnxGenerator
from keras_transformer.serving.settings import ServeOptions

openai = pytest.importorskip("openai", reason="the package openai is not installed")

ASKED = {"prompt": ["the red", "we see"], "max_tokens": 8}


@pytest.fixture
def client(
    adapted_decoder: Any, start: Callable[..., Any], ask: Callable[[Any], Any]
) -> Iterator[Any]:
    named = tuple(f"{name}={file}" for name, file in adapted_decoder.files.items())
    return ask(start(adapted_decoder.path, {}, adapter=named))


def test_each_name_answers_as_its_merged_model(client: Any, adapted_decoder: Any) -> None:
    assert [one.id for one in client.models.list()] == ["demo", "first", "second"]
    names = ["demo", "first", "second"] * 4
    with ThreadPoolExecutor(len(names)) as pool:
        answers = list(pool.map(lambda one: client.completions.create(model=one, **ASKED), names))
    for name, answer in zip(names, answers, strict=True):
        path = adapted_decoder.merged[None if name == "demo" else name]
        with OnnxGenerator(path) as merged:
            wanted = merged.generate(ASKED["prompt"], max_length=8, include_prompt=False)
        assert answer.model == name and [one.text for one in answer.choices] == wanted
    asked = {**ASKED, "prompt": "the red", "model": "second", "stream": True}
    chunks = client.completions.create(**asked)
    assert "".join(chunk.choices[0].text for chunk in chunks) == answers[2].choices[0].text


def test_other_names_are_not_found(client: Any) -> None:
    with pytest.raises(openai.NotFoundError, match="name one of demo, first, second"):
        client.completions.create(model="third", prompt="a")


@pytest.mark.parametrize(
    "adapter, message",
    [
        (("first",), "adapter must be NAME=FILE"),
        (("a=b", "a=c"), "with a name of its own, got 'a=c'"),
        (("model=b",), "adapter names the model itself, 'model'"),
    ],
)
def test_what_names_no_adapter_is_refused(adapter: tuple[str, ...], message: str, tmp_path) -> None:
    with pytest.raises(ValueError, match=message):
        ServeOptions(artefact=tmp_path / "model", adapter=adapter)
