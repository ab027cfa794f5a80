"""What phrases need behind each token, and the order of banks, the same in numpy and tensors."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keras import ops

from keras_transformer.decoding.beams import TENSORS
from keras_transformer.runtime.loop.phrase_search import NUMPY
from keras_transformer.search.phrase_banks import (
    best_in_banks,
    most_of_each,
    reached,
    tokens_needed,
)
from keras_transformer.search.phrases import phrase_table

# 4 5 6, and 4 4 5 or 8, the shorter of which counts.
TABLE = phrase_table([[((4, 5, 6),), ((4, 4, 5), (8,))]])
EOS = 3


@pytest.mark.parametrize(
    ("ids", "anywhere", "behind"),
    [
        ([], 4, {4: 3, 5: 4, 6: 4, 8: 3}),
        ([4], 4, {4: 3, 5: 2, 6: 4, 8: 3}),
        ([4, 5], 4, {4: 3, 5: 4, 6: 1, 8: 3}),
        ([4, 4, 5], 3, {4: 2, 5: 3, 6: 0, 8: 3}),
        ([8, 7], 3, {4: 2, 5: 3, 6: 3, 8: 3}),
        ([4, 5, 6, 8], 0, {4: 0, 5: 0, 6: 0, 8: 0}),
    ],
)
def test_what_phrases_need_behind_each_token(
    ids: list[int], anywhere: int, behind: dict[int, int]
) -> None:
    said = np.array(ids, np.int32).reshape(1, 1, -1)
    state = reached(np, TABLE, said, np.zeros(1, np.int32), len(ids))
    found, of_tokens = tokens_needed(np, state)
    assert found.tolist() == [[anywhere]]
    tokens = TABLE.ravel()
    least = {token: int(of_tokens[0, 0, tokens == token].min()) for token in behind}
    assert least == behind


def test_what_a_prompt_holds_does_not_count() -> None:
    said = np.array([[[8, 4, 5, 6]]], np.int32)
    for begin, anywhere in ((0, 0), (1, 1), (2, 4)):
        state = reached(np, TABLE, said, np.array([begin], np.int32), 4)
        assert tokens_needed(np, state)[0].tolist() == [[anywhere]]


def test_banks_take_turns_and_the_one_that_needs_least_begins() -> None:
    table = phrase_table([[((4, 5),)]])
    said = np.array([[[4], [7]]], np.int32)
    needed = tokens_needed(np, reached(np, table, said, np.zeros(1, np.int32), 1))
    others = (
        np.array([[[-1, -2], [-1.5, -9]]], np.float32),
        np.array([[[7, EOS], [6, 7]]], np.int32),
    )
    spoken = np.array([[[-6, -7], [-8, -3]]], np.float32)
    found = best_in_banks(NUMPY, table, needed, others, spoken, np.array([9]), EOS, 6)
    # 4 5 needs nothing more, 7 4 and 4 4 one token, 4 7, 7 6 and 7 5 both.
    assert found.tokens.tolist() == [[5, 4, 7, 4, 6, 5]]
    assert found.parents.tolist() == [[0, 0, 0, 1, 1, 1]]
    assert found.totals.tolist() == [[-7, -6, -1, -8, -1.5, -3]]
    # An end comes after them, and so does what leaves no room.
    tight = best_in_banks(NUMPY, table, needed, others, spoken, np.array([0]), EOS, 2)
    assert tight.totals.tolist() == [[-7, -np.inf]]


@given(seed=st.integers(0, 2**32 - 1), step=st.integers(0, 5))
def test_tensors_give_what_numpy_does(seed: int, step: int) -> None:
    random = np.random.default_rng(seed)
    rows: Any = [
        [
            tuple(tuple(random.integers(4, 7, random.integers(1, 4))) for _ in range(forms))
            for forms in random.integers(1, 3, random.integers(1, 3))
        ]
        for _ in range(2)
    ]
    table = phrase_table(rows)
    spoken = random.normal(size=(2, 3, table[0].size)).astype(np.float32)
    said = random.integers(4, 8, (2, 3, 5)).astype(np.int32)
    values = -np.sort(random.random((2, 3, 4)).astype(np.float32))
    tokens = random.integers(3, 9, (2, 3, 4)).astype(np.int32)
    room, begins = np.array([5, 1], np.int32), np.array([0, 2], np.int32)
    found = []
    for arrays, as_array in ((NUMPY, np.asarray), (TENSORS, ops.convert_to_tensor)):
        state = reached(arrays.ops, as_array(table), as_array(said), as_array(begins), step)
        needed = tokens_needed(arrays.ops, state)
        own, of_phrases, most = as_array(values[:, :, 0]), as_array(spoken), as_array(room)
        more = most_of_each(arrays, needed[0], own, most, table[0].size + 1, 3)
        others = as_array(values), as_array(tokens)
        best = best_in_banks(arrays, as_array(table), needed, others, of_phrases, most, EOS, 6)
        found.append([np.asarray(part) for part in (*best, more)])
    np.testing.assert_array_equal(found[0].pop(), found[1].pop())
    possible = found[0][0] > -1e29
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours[possible], theirs[possible])
    assert (found[1][0][~possible] < -1e29).all()
