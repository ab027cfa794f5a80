"""The same model on the live Keras side and on onnxruntime: the same ids, texts and numbers."""

import itertools
from typing import Any

import numpy as np
import pytest

from keras_transformer.export import OnnxTranslator
from keras_transformer.search.options import Candidate, Hypothesis

SEARCHES: list[dict[str, Any]] = [
    {},
    {"beam_size": 3, "num_hypotheses": 3},
    {"beam_size": 2, "early_stopping": "exact", "max_length_ratio": 1.5},
    {"sample": True, "num_hypotheses": 2, "seed": 3, "top_p": 0.95},
    {"require": ["red house|birds", "river"], "max_length": 30},
]
# Beams, samples and phrases.
QUICK = [(1, True), (3, True), (4, False)]
PREFIXES = ["the river", "", "hello, you", "we", "", "birds"]


@pytest.fixture(scope="module")
def onnx_side(exported: Any) -> OnnxTranslator:
    return OnnxTranslator(exported.path, threads=1)


@pytest.mark.parametrize(
    ("search", "begun"),
    [
        pytest.param(*case, marks=() if case in QUICK else pytest.mark.exhaustive)
        for case in itertools.product(range(len(SEARCHES)), [False, True])
    ],
)
def test_hypotheses_are_the_same(
    onnx_side: OnnxTranslator, keras_side: Any, texts: list[str], search: int, begun: bool
) -> None:
    prefixes = PREFIXES if begun else None
    options = {"max_length": 15, "target_prefixes": prefixes, **SEARCHES[search]}
    found, wanted = (
        side.translate_n_best(texts, return_attention=True, **options)
        for side in (onnx_side, keras_side)
    )
    for ours, theirs in zip(found, wanted, strict=True):
        assert [type(one) for one in (*ours, *theirs)] == [Hypothesis] * 2 * len(theirs)
        assert [(one.text, one.ids) for one in ours] == [(one.text, one.ids) for one in theirs]
        numbers = [[(one.score, one.log_probability) for one in few] for few in (ours, theirs)]
        np.testing.assert_allclose(*numbers, atol=1e-4)
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one.attention, other.attention, atol=1e-5)


def test_ids_come_back_as_candidates(onnx_side: OnnxTranslator, keras_side: Any) -> None:
    found, wanted = (
        side.translate_ids([[5, 6], []], max_length=15) for side in (onnx_side, keras_side)
    )
    assert {type(one) for side in (found, wanted) for few in side for one in few} == {Candidate}
    assert [few[0].ids for few in found] == [few[0].ids for few in wanted]
    assert found[1] == wanted[1] == [([], 0.0, 0.0)]


def test_streams_are_the_same(onnx_side: OnnxTranslator, keras_side: Any, texts: list[str]) -> None:
    for options in ({}, {"sample": True, "seed": 5}):
        found, wanted = (
            list(side.translate_stream(texts[0], max_length=15, **options))
            for side in (onnx_side, keras_side)
        )
        assert found == wanted and len(found) > 1


@pytest.mark.parametrize(
    "options", [{}, {"length_penalty": 1.0, "length_penalty_type": "exponent"}]
)
def test_scores_are_the_same(
    onnx_side: OnnxTranslator, keras_side: Any, texts: list[str], options: dict[str, Any]
) -> None:
    targets = [*texts[1:], ""]
    wanted = keras_side.score(texts, targets, **options)
    found = onnx_side.score(texts, targets, **options)
    for ours, theirs in zip(found, wanted, strict=True):
        assert (ours.text, ours.ids) == (theirs.text, theirs.ids)
        numbers = [(one.score, one.log_probability) for one in (ours, theirs)]
        np.testing.assert_allclose(*numbers, rtol=1e-5, atol=1e-4)
