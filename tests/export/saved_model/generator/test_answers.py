"""Every signature of a decoder answers what the Keras generator says of each prompt."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from keras_transformer.text.tokenizer import Tokenizer

PROMPTS = ["the red", "", "hello ", "a small house stands by the river and the birds are blue"]
LONG = "the red dog runs to the house and we see three birds by the river of a small book"


@pytest.mark.exhaustive
def test_generate_n_best_gives_all_continuations(serve_decoder: Callable[..., Any]) -> None:
    served = serve_decoder("text")
    prompts = [*PROMPTS, LONG, "new\nline", "tab\t"]
    found = served.run("generate_n_best", prompt=prompts)
    wanted = served.generator.generate_n_best(prompts, **served.search)
    for row, few in enumerate(wanted):
        assert [text.decode() for text in found["texts"][row]] == [one.text for one in few]
        for name, values in (
            ("scores", [one.score for one in few]),
            ("log_probabilities", [one.log_probability for one in few]),
        ):
            np.testing.assert_allclose(found[name][row], values, atol=1e-4)


@pytest.mark.parametrize("signature", ["serving_default", "generate"])
def test_generate_gives_the_best_continuation(
    serve_decoder: Callable[..., Any], signature: str
) -> None:
    served = serve_decoder("text")
    found = served.run(signature, prompt=PROMPTS)
    best = [few[0] for few in served.generator.generate_n_best(PROMPTS, **served.search)]
    assert [text.decode() for text in found["text"]] == [one.text for one in best]
    np.testing.assert_allclose(found["score"], [one.score for one in best], atol=1e-4)


@pytest.mark.parametrize("kind", ["text", "ids"])
def test_generate_ids_gives_the_new_ids(
    serve_decoder: Callable[..., Any], kind: str, tokenizer: Tokenizer, pad: Callable[..., Any]
) -> None:
    served = serve_decoder(kind)
    rows = tokenizer.encode([*PROMPTS, LONG])
    found = served.run("generate_ids", prompt_ids=pad(rows))
    assert found["ids"].shape == (len(rows), served.search["max_length"])
    for row, [best, *_] in enumerate(served.generator.generate_ids(rows, **served.search)):
        assert np.trim_zeros(found["ids"][row]).tolist() == best.ids
        assert found["score"][row] == pytest.approx(best.score, abs=1e-4)
        assert found["log_probability"][row] == pytest.approx(best.log_probability, abs=1e-4)


def test_each_row_has_its_own_options(serve_decoder: Callable[..., Any]) -> None:
    served = serve_decoder("text")
    lengths, penalties = [1, 3, 6, 99], [0.0, 0.6, 2.0, -1.0]
    found = served.run(
        "generate_with_options",
        prompt=PROMPTS,
        max_length=np.array(lengths, np.int32),
        length_penalty=np.array(penalties, np.float32),
    )
    for row, (prompt, length, penalty) in enumerate(zip(PROMPTS, lengths, penalties, strict=True)):
        own = {"max_length": min(length, 6), "length_penalty": max(penalty, 0.0)}
        [[best, *_]] = served.generator.generate_n_best([prompt], **{**served.search, **own})
        assert found["text"][row].decode() == best.text
        assert found["score"][row] == pytest.approx(best.score, abs=1e-4)


@pytest.mark.parametrize("kind", ["text", "ids"])
def test_score_tells_how_probable_texts_are(
    serve_decoder: Callable[..., Any], kind: str, tokenizer: Tokenizer, pad: Callable[..., Any]
) -> None:
    served = serve_decoder(kind)
    texts = [*PROMPTS, LONG]
    given = {"text": texts} if kind == "text" else {"token_ids": pad(tokenizer.encode(texts))}
    found = served.run("score", **given)
    wanted = served.generator.score(texts)
    np.testing.assert_allclose(found["score"], [one.score for one in wanted], atol=1e-4)
    totals = [one.log_probability for one in wanted]
    np.testing.assert_allclose(found["log_probability"], totals, atol=1e-4)
    perplexities = served.generator.perplexity(texts)
    np.testing.assert_allclose(found["perplexity"], perplexities, rtol=1e-4)


def test_a_row_does_not_depend_on_the_others(
    serve_decoder: Callable[..., Any], tokenizer: Tokenizer, pad: Callable[..., Any]
) -> None:
    served = serve_decoder("ids")
    rows = tokenizer.encode(PROMPTS)
    together = served.run("generate_n_best", prompt_ids=np.pad(pad(rows), [(0, 0), (0, 3)]))
    for place, row in enumerate(rows):
        alone = served.run("generate_n_best", prompt_ids=pad([row]))
        np.testing.assert_array_equal(alone["ids"][0], together["ids"][place])
        np.testing.assert_allclose(alone["scores"][0], together["scores"][place], atol=1e-4)


def test_an_empty_batch_has_empty_answers(serve_decoder: Callable[..., Any]) -> None:
    nothing, no_ids = np.array([], object), np.zeros((0, 0), np.int32)
    numbers = {"max_length": np.zeros(0, np.int32), "length_penalty": np.zeros(0, np.float32)}
    for kind, signature, inputs in (
        ("text", "generate", {"prompt": nothing}),
        ("text", "generate_n_best", {"prompt": nothing}),
        ("text", "generate_with_options", {"prompt": nothing, **numbers}),
        ("text", "score", {"text": nothing}),
        ("ids", "generate_ids", {"prompt_ids": no_ids}),
        ("ids", "score", {"token_ids": no_ids}),
    ):
        for value in serve_decoder(kind).run(signature, **inputs).values():
            assert value.shape[0] == 0
