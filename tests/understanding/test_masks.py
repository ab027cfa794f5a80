"""Fillings of masks, against a search through all of them."""

import itertools

import numpy as np
import pytest

from keras_transformer.understanding.masks import best_fillings, without_spaces_before_masks


@pytest.mark.parametrize("masks", [1, 2, 3])
@pytest.mark.parametrize("count", [1, 4, 30])
def test_the_best_fillings_are_those_of_a_search_through_all(masks: int, count: int) -> None:
    logits = np.random.default_rng(masks).normal(0, 2, (masks, 7)).astype(np.float32)
    forbidden = {0, 3}
    wide = logits.astype(np.float64)
    log_probs = wide - np.log(np.exp(wide).sum(axis=1, keepdims=True))
    every = [
        (sum(log_probs[place, token] for place, token in enumerate(tokens)), list(tokens))
        for tokens in itertools.product([1, 2, 4, 5, 6], repeat=masks)
    ]
    expected = sorted(every, key=lambda one: -one[0])[:count]
    found = best_fillings(logits, forbidden, count)
    assert [filling.ids for filling in found] == [ids for _, ids in expected]
    np.testing.assert_allclose([one.score for one in found], [score for score, _ in expected])


def test_the_lower_id_wins_a_tie() -> None:
    logits = np.zeros((1, 50), np.float32)
    assert [one.ids for one in best_fillings(logits, {0, 1}, 3)] == [[2], [3], [4]]


def test_only_a_space_right_before_a_mask_is_dropped() -> None:
    mask, space = 4, 9
    ids = [9, 4, 7, 9, 4, 4, 9, 8, 9]
    assert without_spaces_before_masks(ids, mask, space) == [4, 7, 4, 4, 9, 8, 9]
    assert without_spaces_before_masks([], mask, space) == []
