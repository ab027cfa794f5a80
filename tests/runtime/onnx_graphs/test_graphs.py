"""The encoder's input: rows end as the model reads them and are padded to one length."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.runtime.onnx_graphs.graphs import pad_sources


def test_rows_end_with_eos_and_are_padded_on_the_right() -> None:
    padded = pad_sources([[7, 8, 9], [], [5]], pad_id=0, ends=[3])
    assert padded.dtype == np.int32
    np.testing.assert_array_equal(padded, [[7, 8, 9, 3], [3, 0, 0, 0], [5, 3, 0, 0]])


@given(rows=st.lists(st.lists(st.integers(4, 99), max_size=9), min_size=1, max_size=9))
def test_padded_rows_can_be_read_back(rows: list[list[int]]) -> None:
    padded = pad_sources(rows, pad_id=0, ends=[3])
    assert [[int(token) for token in row if token] for row in padded] == [[*r, 3] for r in rows]
    assert padded.shape[1] == max(map(len, rows)) + 1
