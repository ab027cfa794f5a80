"""The adaptive softmax against the paper's equations in float64, and against PyTorch's."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.layers import AdaptiveEmbedding, AdaptiveSoftmax

STATES = np.random.default_rng(0).standard_normal((2, 3, 8)).astype("float32")
SIZES = {"vocab_size": 11, "cutoffs": [4, 7], "div_value": 2}
THEIRS = Path(__file__).parents[2] / "fixtures" / "adaptive_softmax.npz"


@pytest.fixture(params=["own", "own with biases", "tied", "tied with biases"])
def head(request: pytest.FixtureRequest, randomize) -> AdaptiveSoftmax:
    made = AdaptiveSoftmax(**SIZES, use_bias="biases" in request.param)
    if "tied" in request.param:
        tokens = AdaptiveEmbedding(model_dim=8, **SIZES)
        tokens.build()
        made.tie(tokens)
    made.build(STATES.shape)
    return randomize(made)


def test_the_log_probabilities_are_those_of_the_equations(head: AdaptiveSoftmax, paper) -> None:
    found = head(STATES)
    np.testing.assert_allclose(found, paper.adaptive_softmax(head, STATES), atol=1e-5)
    np.testing.assert_allclose(np.exp(found).sum(-1), 1, atol=1e-6)


@settings(max_examples=5)
@given(cutoffs=st.sets(st.integers(1, 10), min_size=1, max_size=3).map(sorted))
def test_probabilities_sum_to_one_for_any_cutoffs(cutoffs: list[int]) -> None:
    head = AdaptiveSoftmax(11, cutoffs, div_value=2)
    head.build(STATES.shape)
    found = head(STATES)
    assert found.shape == (2, 3, 11)
    np.testing.assert_allclose(np.exp(found).sum(-1), 1, atol=1e-5)


def test_a_tied_head_has_the_embeddings_weights_and_a_first_projection_of_its_own() -> None:
    tokens, head = AdaptiveEmbedding(model_dim=8, **SIZES), AdaptiveSoftmax(**SIZES)
    tokens.build()
    head.tie(tokens)
    head.build(STATES.shape)
    assert len(head.projections) == 1 and not head.matrices
    np.testing.assert_array_equal(head.softmaxes[1].projection, np.transpose(tokens.projections[1]))
    np.testing.assert_array_equal(head.softmaxes[0].matrix[:4], tokens.matrices[0])


def test_a_head_is_not_tied_to_other_clusters() -> None:
    with pytest.raises(ValueError, match="embedding whose ids are divided otherwise"):
        AdaptiveSoftmax(**SIZES).tie(AdaptiveEmbedding(11, 8, [4, 8], 2))


def test_a_tied_head_needs_its_embedding() -> None:
    with pytest.raises(ValueError, match="is tied to an embedding's weights, .* call `tie` first"):
        AdaptiveSoftmax(**SIZES, tied=True)(STATES)


def test_pytorch_computes_the_same() -> None:
    theirs = np.load(THEIRS)
    cutoffs, width = theirs["cutoffs"].tolist(), theirs["states"].shape[1]
    head = AdaptiveSoftmax(theirs["log_probabilities"].shape[1], cutoffs, 2, use_bias=True)
    head.build((None, None, width))
    rows, choices = np.split(theirs["head.weight"], [cutoffs[0]])
    bias, of_choices = np.split(theirs["head.bias"], [cutoffs[0]])
    tails = range(len(cutoffs))
    # Theirs has no projection of the first cluster and no biases of the others.
    projections = [np.eye(width), *(theirs[f"tail.{one}.0.weight"].T for one in tails)]
    matrices = [rows, *(theirs[f"tail.{one}.1.weight"] for one in tails)]
    zeros = [np.zeros(len(matrix)) for matrix in matrices[1:]]
    head.set_weights([choices, *projections, *matrices, of_choices, bias, *zeros])
    found = head(theirs["states"][None])[0]
    np.testing.assert_allclose(found, theirs["log_probabilities"], atol=1e-5)
