"""The steps that beam search and sampling share, against numpy."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.decoding.hypotheses import rows_of, take_hypotheses


@given(
    batch=st.integers(1, 4),
    held=st.integers(1, 5),
    taken=st.integers(1, 6),
    rest=st.lists(st.integers(1, 4), max_size=2),
    seed=st.integers(0, 9),
)
def test_hypotheses_are_taken_as_take_along_axis_takes_them(
    batch: int, held: int, taken: int, rest: list[int], seed: int
) -> None:
    generator = np.random.default_rng(seed)
    values = generator.integers(0, 99, (batch, held, *rest)).astype(np.int32)
    places = generator.integers(0, held, (batch, taken)).astype(np.int32)
    indices = places.reshape((batch, taken, *[1] * len(rest)))
    np.testing.assert_array_equal(
        take_hypotheses(values, places), np.take_along_axis(values, indices, axis=1)
    )


def test_rows_of_a_sentence_lie_side_by_side() -> None:
    places = np.array([[1, 0], [2, 2]], np.int32)
    np.testing.assert_array_equal(rows_of(places, 3), [[1, 0], [5, 5]])
