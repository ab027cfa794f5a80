"""Packing: every token once, rows of one length, borders of documents kept or not."""

from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.config import SpecialIds
from keras_transformer.data.encoding.id_pairs import RaggedIds
from keras_transformer.data.encoding.packing import packed_rows

LINES = [[5, 6], [7], [], [8, 9, 10], []]


def test_rows_within_documents() -> None:
    rows, lines = packed_rows(RaggedIds.from_rows(LINES), 3, SpecialIds(), across_documents=False)
    assert rows == [[2, 5, 6, 3], [2, 7, 3], [2, 8, 9, 10], [2, 3]]
    assert lines == [0, 1, 3, 3]


def test_rows_across_documents() -> None:
    rows, lines = packed_rows(RaggedIds.from_rows(LINES), 4, SpecialIds(), across_documents=True)
    assert rows == [[2, 5, 6, 3, 7], [2, 3, 8, 9, 10], [2, 3]]
    assert lines == [0, 1, 3]


@given(
    lines=st.lists(st.lists(st.integers(5, 9), max_size=5), max_size=12),
    length=st.integers(1, 9),
    across=st.booleans(),
)
def test_every_token_stands_in_one_row(lines: list[list[int]], length: int, across: bool) -> None:
    rows, _ = packed_rows(RaggedIds.from_rows(lines), length, SpecialIds(), across_documents=across)
    assert [token for row in rows for token in row[1:]] == [
        token for line in lines if line for token in [*line, 3]
    ]
    assert all(2 <= len(row) <= length + 1 for row in rows)
    if across:
        assert all(len(row) == length + 1 for row in rows[:-1])
