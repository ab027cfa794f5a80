"""Rows of models with one stack: where the special ids stand."""

import pytest

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.text.layout import decoder_row, encoder_row

OURS = SpecialIds()
WITHOUT_BOS = SpecialIds(pad=0, unk=2, bos=None, eos=1)


def test_a_text_stands_between_bos_and_eos() -> None:
    assert encoder_row([7, 8], None, OURS) == ([2, 7, 8, 3], [0, 0, 0, 0])


def test_a_second_text_follows_with_an_eos_and_a_type_of_its_own() -> None:
    assert encoder_row([7, 8], [9], OURS) == ([2, 7, 8, 3, 9, 3], [0, 0, 0, 0, 1, 1])


def test_a_second_text_may_be_empty() -> None:
    assert encoder_row([7], [], OURS) == ([2, 7, 3, 3], [0, 0, 0, 1])


def test_a_vocabulary_without_bos_begins_with_the_text() -> None:
    assert encoder_row([7], [9], WITHOUT_BOS) == ([7, 1, 9, 1], [0, 0, 1, 1])


@pytest.mark.parametrize(
    ("special_ids", "start"),
    [(OURS, 2), (WITHOUT_BOS, 1), (SpecialIds(decoder_start=9), 9)],
)
def test_a_decoder_reads_its_start_first(special_ids: SpecialIds, start: int) -> None:
    assert decoder_row([7, 8], special_ids) == [start, 7, 8]
    assert decoder_row([7, 8], special_ids, ends=True) == [start, 7, 8, special_ids.eos]
    assert decoder_row([], special_ids) == [start]


def test_a_pair_with_two_separators_has_one_type() -> None:
    assert encoder_row([7, 8], [9], OURS, 2) == ([2, 7, 8, 3, 3, 9, 3], [0] * 7)
    assert encoder_row([7, 8], None, OURS, 2) == ([2, 7, 8, 3], [0] * 4)
