"""Rows of ids in a graph, against rows written out by hand."""

import numpy as np

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.export.saved_model.id_rows import read_rows, row_lengths, with_end

IDS = SpecialIds()
ROWS = np.array([[7, 8, 9, 5], [7, 0, 9, 5], [0, 7, 8, 9], [-4, 2, 3, 10], [9, 1, 99, 0]], np.int32)


def test_a_row_ends_at_its_first_padding_and_what_is_no_piece_is_unknown() -> None:
    wanted = [[7, 8, 9, 5], [7, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1], [9, 1, 1, 0]]
    assert read_rows(ROWS, 10, 4, IDS).numpy().tolist() == wanted


def test_what_is_longer_than_the_limit_is_cut() -> None:
    assert read_rows(ROWS, 10, 1, IDS).numpy().tolist() == [[7], [7], [0], [1], [9]]


def test_the_end_token_stands_behind_the_last_token() -> None:
    rows = np.array([[7, 8], [7, 0], [0, 0]], np.int32)
    assert row_lengths(rows, IDS).numpy().tolist() == [2, 1, 0]
    assert with_end(rows, IDS).numpy().tolist() == [[7, 8, 3], [7, 3, 0], [3, 0, 0]]
    marked = [[7, 8, 3, 9], [7, 3, 9, 0], [3, 9, 0, 0]]
    assert with_end(rows, IDS, (3, 9)).numpy().tolist() == marked


def test_no_rows_and_no_columns_are_rows_too() -> None:
    for shape in ((0, 4), (3, 0), (0, 0)):
        rows = read_rows(np.zeros(shape, np.int32), 10, 5, IDS)
        assert rows.shape == shape
        assert with_end(rows, IDS).shape == (shape[0], shape[1] + 1)
        assert row_lengths(rows, IDS).numpy().tolist() == [0] * shape[0]


def test_special_ids_may_be_any() -> None:
    ids = SpecialIds(pad=9, unk=0, bos=None, eos=4)
    rows = np.array([[7, 4, 1, 9], [3, 9, 7, 9]], np.int32)
    read = read_rows(rows, 10, 4, ids)
    assert read.numpy().tolist() == [[7, 0, 1, 9], [3, 9, 9, 9]]
    assert row_lengths(read, ids).numpy().tolist() == [3, 1]
    assert with_end(read, ids).numpy().tolist() == [[7, 0, 1, 4, 9], [3, 4, 9, 9, 9]]
