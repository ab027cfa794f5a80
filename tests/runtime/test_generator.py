"""OnnxGenerator: continues prompts as the Keras side does, under every option, in any batch."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from keras_transformer import OnnxGenerator
from keras_transformer.decoding.generator import Generator
from tools.covering import some

QUICK = ["native", "modern"]
PROMPTS = [
    "the red dog",
    "",
    "we see three birds and the river",
    "hello",
    "a small house stands by",
]
MODERN = {
    "positions": "none",
    "max_positions": None,
    "rotary_base": 100.0,
    "norm_kind": "rms_norm",
    "num_key_value_heads": 2,
    "gated_feed_forward": True,
    "starts_prompts": False,
}
SEARCHES = [
    {},
    {"beam_size": 4, "num_hypotheses": 3},
    {"beam_size": 3, "early_stopping": "exact", "min_length": 3, "length_penalty": 1.0},
    {"sample": True, "seed": 4, "num_hypotheses": 3},
    {"sample": True, "seed": 4, "top_k": 5, "temperature": 0.7},
    {"no_repeat_ngram_size": 2, "repetition_penalty": 1.3},
    {"forced_tokens": [(1, 9)], "min_length": 4, "beam_size": 2},
    {"banned_sequences": [[9], [10, 11]], "min_length": 0},
    {"require": ["red house|birds", "river"], "max_length": 30},
]
TRACED = (0, 1, 3, 6, 8)
COMPARED = [("modern", 1), ("native", 3)]


@pytest.fixture(
    scope="module",
    params=some(["onnxruntime", "native", "portable", "modern"], *QUICK),
)
def artefact(request: pytest.FixtureRequest, export_small: Callable[..., Any]) -> Any:
    if request.param == "modern":
        return export_small("decoder", **MODERN)
    return export_small("decoder", request.param)


@pytest.fixture(scope="module")
def onnx(artefact: Any) -> Any:
    with OnnxGenerator(artefact.path) as generator:
        yield generator


@pytest.fixture(scope="module")
def keras_sides() -> dict[int, Generator]:
    """Keras generators by the number of their model: each traces its searches once."""
    return {}


@pytest.fixture(scope="module")
def keras_side(artefact: Any, keras_sides: dict[int, Generator]) -> Generator:
    new = Generator(artefact.model, artefact.source_tokenizer)
    return keras_sides.setdefault(id(artefact.model), new)


def check_equal(found: list[list[Any]], expected: list[list[Any]]) -> None:
    for ours, theirs in zip(found, expected, strict=True):
        assert [one.ids for one in ours] == [one.ids for one in theirs]
        for name in ("score", "log_probability"):
            np.testing.assert_allclose(
                [getattr(one, name) for one in ours],
                [getattr(one, name) for one in theirs],
                atol=1e-3,
            )


# Keras traces a graph for each; the search itself is compared in every option without a model.
@pytest.mark.parametrize(
    ("artefact", "place"),
    [
        pytest.param(*one, marks=() if one in COMPARED else pytest.mark.exhaustive)
        for one in itertools.product([*QUICK, "onnxruntime", "portable"], TRACED)
    ],
    indirect=["artefact"],
)
def test_continuations_are_those_of_keras(
    onnx: OnnxGenerator, keras_side: Generator, place: int
) -> None:
    options = {"max_length": 9, **SEARCHES[place]}
    check_equal(
        onnx.generate_n_best(PROMPTS, **options), keras_side.generate_n_best(PROMPTS, **options)
    )


@pytest.mark.parametrize("search", some(SEARCHES, *SEARCHES[1::2]), ids=str)
def test_a_batch_equals_its_prompts_in_their_order(
    onnx: OnnxGenerator, artefact: Any, search: dict[str, Any]
) -> None:
    many = PROMPTS * 2
    options = {"max_length": 30, **search}
    together = onnx.generate_n_best(many, **options)
    with OnnxGenerator(artefact.path, batch_tokens=1) as split:
        check_equal(together, split.generate_n_best(many, **options))
    with OnnxGenerator(artefact.path, max_cache_bytes=50_000) as bounded:
        check_equal(together, bounded.generate_n_best(many, **options))
    if not search.get("sample"):
        alone = [onnx.generate_n_best([prompt], **options)[0] for prompt in many]
        check_equal(together, alone)


@pytest.mark.parametrize("search", SEARCHES[:4], ids=str)
def test_a_prompt_read_at_once_is_one_read_token_by_token(
    onnx: OnnxGenerator, monkeypatch: pytest.MonkeyPatch, search: dict[str, Any]
) -> None:
    options = {"max_length": 12, **search}
    at_once = onnx.generate_n_best(PROMPTS[2:], **options)
    monkeypatch.setattr("keras_transformer.runtime.loop.requests._LEAST_PREFILL", 1000)
    check_equal(onnx.generate_n_best(PROMPTS[2:], **options), at_once)


def test_texts_without_scores_are_the_best(onnx: OnnxGenerator) -> None:
    best = [found[0].text for found in onnx.generate_n_best(PROMPTS, max_length=20)]
    assert onnx.generate(PROMPTS, max_length=20) == best


@pytest.mark.parametrize(
    "search", [{}, {"sample": True, "seed": 2, "top_k": 9}, {"early_stopping": "exact"}], ids=str
)
def test_the_pieces_of_a_stream_are_the_text(onnx: OnnxGenerator, search: dict[str, Any]) -> None:
    for prompt in PROMPTS:
        options = {"max_length": 20, **search}
        assert ["".join(onnx.stream(prompt, **options))] == onnx.generate([prompt], **options)


def test_perplexity_is_that_of_keras(onnx: OnnxGenerator, keras_side: Generator) -> None:
    texts = [*PROMPTS, " "]
    np.testing.assert_allclose(onnx.perplexity(texts), keras_side.perplexity(texts), rtol=1e-3)
    scored = keras_side.score(texts, length_penalty=1.0)
    for found, expected in zip(onnx.score(texts, length_penalty=1.0), scored, strict=True):
        assert (found.text, found.ids) == (expected.text, expected.ids)
        assert found.score == pytest.approx(expected.score, rel=1e-3)
    assert onnx.perplexity([]) == onnx.generate([]) == []


def test_caches_take_no_more_than_they_may(artefact: Any) -> None:
    with OnnxGenerator(artefact.path, max_cache_bytes=60_000) as generator:
        generator.generate(PROMPTS * 4, max_length=20)
        assert 0 < generator.peak_cache_bytes <= 60_000
    with pytest.raises(RuntimeError, match="the model is closed"):
        generator.generate(["a"])


def test_learned_positions_end_a_text(export_small: Callable[..., Any]) -> None:
    with OnnxGenerator(export_small("decoder").path) as generator:
        endless = {"banned_sequences": [[generator.config.special_ids.eos]]}
        found = generator.generate_ids([[9] * 55, [9] * 59, [9] * 3], max_length=100, **endless)
    assert [len(one.ids) for [one] in found] == [5, 1, 57]


def test_no_more_tokens_are_named_than_there_are(onnx: Any) -> None:
    found = list(onnx.engine.token_scores([], [9, 10], 2, 10**6))
    assert [len(best) for _, _, best in found] == [onnx.config.vocab_size] * 2
