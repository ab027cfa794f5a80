"""The features of a query and a key, and the score that their products make."""

import numpy as np
import pytest

from keras_transformer.plotting.query_key_features import ComparedTokens, query_key_features


@pytest.fixture
def pair() -> ComparedTokens:
    return ComparedTokens(
        "it",
        "dog",
        np.array([[1.0, 2, 0, 0], [0, 0, 0, 3]]),
        np.array([[4.0, -1, 5, 5], [1, 1, 1, 2]]),
    )


def test_a_score_is_the_sum_of_products_over_the_root_of_their_number(pair) -> None:
    assert pair.products.tolist() == [[4, -2, 0, 0], [0, 0, 0, 6]]
    assert pair.scores.tolist() == [1, 3]


def test_each_head_has_a_panel_of_q_k_and_their_product(pair) -> None:
    first, second, *_ = query_key_features(pair).axes
    assert np.asarray(second.images[0].get_array()).tolist() == [
        [0, 0, 0, 3],
        [1, 1, 1, 2],
        [0, 0, 0, 6],
    ]
    assert first.get_title() == "head 1: Σ q × k / √4 = 1.00"
    assert [label.get_text() for label in first.get_yticklabels()] == ["q", "k", "q × k"]
