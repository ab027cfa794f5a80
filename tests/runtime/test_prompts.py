"""Prompts that begin with a token of their own are continued, and scored, as Keras reads them."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from keras_transformer import OnnxGenerator
from keras_transformer.runtime.prompts import Ending, Prompt, PromptContinuer, Scored

TEXTS = ["the red dog", "", "hello"]
# Begins with a word, and holds the end token.
IDS = [[9, 12, 3, 15, 11], [14], [8, 9]]


@pytest.fixture(scope="module")
def artefact(export_small: Callable[..., Any]) -> Any:
    return export_small("decoder", "native")


@pytest.fixture(scope="module")
def generator(artefact: Any) -> Iterator[OnnxGenerator]:
    with OnnxGenerator(artefact.path) as opened:
        yield opened


@pytest.fixture(scope="module")
def continuer(generator: OnnxGenerator) -> PromptContinuer:
    return PromptContinuer(generator.engine, generator.text_ids[0])


def keras_scores(artefact: Any, ids: list[int]) -> Any:
    """Log-probabilities of the tokens that follow each of the ids: `(ids, vocabulary)`."""
    [logits] = np.asarray(artefact.model({"token_ids": np.array([ids], np.int32)}))
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def test_texts_begin_as_all_texts_do(continuer: PromptContinuer, generator: OnnxGenerator) -> None:
    found = continuer.search(continuer.of_texts(TEXTS), generator.search_options(max_length=7))
    wanted = generator.generate(TEXTS, include_prompt=False, max_length=7)
    assert [best.text for best, _ in found] == wanted


def test_ids_are_read_as_they_are(artefact: Any, continuer: PromptContinuer) -> None:
    prompts = [continuer.of_ids(row) for row in IDS]
    for prompt, row in zip(prompts, IDS, strict=True):
        [one, *_] = continuer.scores(prompt, [20], 1, Scored(1))
        assert one.log_probability == pytest.approx(keras_scores(artefact, row)[-1, 20], abs=1e-4)


def test_searches_follow_what_is_most_probable(
    artefact: Any, continuer: PromptContinuer, generator: OnnxGenerator
) -> None:
    options = generator.search_options(max_length=4, min_length=4)
    never = [*generator.config.special_ids.without_text - {generator.config.special_ids.unk}]
    for prompt in map(continuer.of_ids, IDS):
        [(best, ending)] = continuer.search([prompt], options)
        ids = [*prompt.ids, *best.ids]
        scores = keras_scores(artefact, ids)[len(prompt) - 1 : -1]
        scores[:, never] = -np.inf
        assert scores.argmax(-1).tolist() == best.ids
        assert ending == Ending("length", 4)


def test_prompts_share_a_batch(continuer: PromptContinuer, generator: OnnxGenerator) -> None:
    prompts = [*map(continuer.of_ids, IDS), *continuer.of_texts(TEXTS)]
    options = generator.search_options(max_length=5)
    alone = [continuer.search([prompt], options)[0] for prompt in prompts]
    together = continuer.search(prompts, options)
    assert [best.ids for best, _ in together] == [best.ids for best, _ in alone]
    assert [ending for _, ending in together] == [ending for _, ending in alone]


@pytest.mark.parametrize("stop", [[], ["e"], ["hello"]])
def test_a_stream_ends_as_a_search_does(
    continuer: PromptContinuer, generator: OnnxGenerator, stop: list[str]
) -> None:
    options = generator.search_options(max_length=6, stop=stop)
    for prompt in [*continuer.of_texts(TEXTS), Prompt((9, 3, 8))]:
        *pieces, ending = continuer.stream(prompt, options)
        [(best, wanted)] = continuer.search([prompt], options)
        assert "".join(piece.text for piece in pieces) == best.text and ending == wanted


def test_scores_are_those_of_the_whole_text(
    continuer: PromptContinuer, generator: OnnxGenerator
) -> None:
    [prompt] = continuer.of_texts(["the red dog"])
    found = list(continuer.scores(prompt, [9, 10], 2, Scored(3, with_prompt=True)))
    [values] = generator.engine.log_probabilities([[*prompt.ids[1:], 9, 10]])
    np.testing.assert_allclose([one.log_probability for one in found], values[:-1], atol=1e-4)
    for one in found:
        values = [value for _, value in one.best]
        assert values == sorted(values, reverse=True) and len(values) == 3


@pytest.mark.parametrize(
    ("ids", "message"), [([], "must have one at least"), ([4, 99999], "must lie in 0 to")]
)
def test_ids_that_are_none_are_refused(
    continuer: PromptContinuer, ids: list[int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        continuer.of_ids(ids)
