"""The vocabulary head: a matrix of its own, or an embedding's."""

import numpy as np
import pytest

from keras_transformer.layers import TokenEmbedding, VocabularyHead

STATES = np.random.default_rng(0).standard_normal((2, 3, 4)).astype("float32")


def test_logits_are_products_with_the_rows_of_its_matrix() -> None:
    head = VocabularyHead(5)
    logits = head(STATES)
    assert head.matrix.shape == (5, 4)
    np.testing.assert_allclose(logits, STATES @ np.asarray(head.matrix).T, atol=1e-5)


def test_a_cap_bounds_logits_with_their_biases(paper) -> None:
    head = VocabularyHead(5, use_bias=True, soft_cap=0.7)
    head.build(STATES.shape)
    head.bias.assign(np.linspace(-2, 2, 5))
    sums = STATES @ np.asarray(head.linear.kernel) + np.asarray(head.bias)
    np.testing.assert_allclose(head(STATES), paper.soft_capped(sums, 0.7), atol=1e-6)
    with pytest.raises(ValueError, match="soft_cap must be positive"):
        VocabularyHead(5, soft_cap=0)


def test_a_tied_head_has_the_matrix_of_the_embedding() -> None:
    tokens, head = TokenEmbedding(5, 4), VocabularyHead(5)
    tokens.build()
    head.tie(tokens)
    np.testing.assert_allclose(head(STATES), STATES @ np.asarray(tokens.matrix).T, atol=1e-5)
    assert head.matrix is tokens.matrix


def test_a_head_is_not_tied_to_another_vocabulary() -> None:
    with pytest.raises(ValueError, match="head of 5 logits cannot use the matrix of 6 tokens"):
        VocabularyHead(5).tie(TokenEmbedding(6, 4))


def test_a_copy_of_a_tied_head_must_be_tied_too() -> None:
    head = VocabularyHead(5)
    head.tie(TokenEmbedding(5, 4))
    copy = VocabularyHead.from_config(head.get_config())
    with pytest.raises(ValueError, match=r"'.*head.*' is tied .* call `tie` first.*from_config\("):
        copy(STATES)
    copy = VocabularyHead.from_config(head.get_config())
    copy.tie(TokenEmbedding(5, 4))
    assert copy(STATES).shape == (2, 3, 5)
