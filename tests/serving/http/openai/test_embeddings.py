"""`POST /v1/embeddings` gives the vectors of `OnnxEncoder`, asked by OpenAI's client."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.runtime.encoder import OnnxEncoder

openai = pytest.importorskip("openai", reason="the package openai is not installed")

TEXTS = ["the red river", "a small house"]


@pytest.fixture(scope="module")
def client(
    family_artefact: Callable[[Any], Path],
    start_shared: Callable[..., Any],
    ask: Callable[[Any], Any],
) -> Any:
    return ask(start_shared(family_artefact("embedding"), search={}, max_source_length=18))


@pytest.fixture(scope="module")
def encoder(family_artefact: Callable[[Any], Path]) -> Iterator[OnnxEncoder]:
    with OnnxEncoder(family_artefact("embedding")) as opened:
        yield opened


def test_gives_vectors_in_both_forms(client: Any, encoder: OnnxEncoder) -> None:
    wanted = encoder.embed(TEXTS)
    # The client asks for base64 unless it is told otherwise.
    for options in ({}, {"encoding_format": "float"}):
        answer = client.embeddings.create(model="demo", input=TEXTS, **options)
        found = [one.embedding for one in answer.data]
        np.testing.assert_allclose(found, wanted, atol=1e-5)
        assert [one.index for one in answer.data] == [0, 1]


def test_counts_what_is_read(client: Any, encoder: OnnxEncoder) -> None:
    usage = client.embeddings.create(model="demo", input=TEXTS[0]).usage
    [prompted] = encoder.prompted(TEXTS[:1])
    # Behind each text stands its end, before it its begin.
    assert usage.prompt_tokens == encoder.text_lengths([prompted])[0] + 2 == usage.total_tokens


def test_fewer_numbers_are_a_vector_of_length_1(client: Any, encoder: OnnxEncoder) -> None:
    answer = client.embeddings.create(model="demo", input=TEXTS, dimensions=3)
    found = np.array([one.embedding for one in answer.data])
    wanted = encoder.embed(TEXTS)[:, :3]
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_a_prompt_is_named(client: Any, encoder: OnnxEncoder) -> None:
    answer = client.embeddings.create(model="demo", input="a", extra_body={"prompt_name": "none"})
    wanted = encoder.embed(["a"], prompt_name="none")[0]
    np.testing.assert_allclose(answer.data[0].embedding, wanted, atol=1e-5)


@pytest.mark.parametrize(
    ("given", "param", "message"),
    [
        ({"input": []}, "input", "a list of strings"),
        ({"input": [[1, 2]]}, "input", "ids of tokens, which are those of OpenAI's models"),
        ({"input": "the river " * 30}, None, "more than the limit of 18"),
        ({"dimensions": 6}, "dimensions", "at most 5, got 6"),
        ({"encoding_format": "int8"}, "encoding_format", "'float' or 'base64', got 'int8'"),
    ],
)
def test_what_it_cannot_do_is_refused(
    client: Any, given: dict[str, Any], param: str | None, message: str
) -> None:
    with pytest.raises(openai.BadRequestError, match=message) as caught:
        client.embeddings.create(**{"model": "demo", "input": "a", **given})
    assert caught.value.param == param


def test_an_encoder_does_not_chat(client: Any) -> None:
    with pytest.raises(openai.BadRequestError, match="it answers /v1/embeddings and"):
        client.completions.create(model="demo", prompt="a")
