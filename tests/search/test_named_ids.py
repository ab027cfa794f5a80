"""Token ids and prefixes that no model can take are refused, with the mend."""

import numpy as np
import pytest

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.search.named_ids import check_prefixes, check_token_ids
from keras_transformer.search.options import SearchOptions

BOS_ID, EOS_ID, PAD_ID = SpecialIds.bos, SpecialIds.eos, SpecialIds.pad


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"banned_sequences": [[4], [5, 24]]},
            "banned_sequences names token 24, but the target vocabulary has the ids 0 to 23",
        ),
        (
            {"forced_tokens": [[0, 99]]},
            "forced_tokens names token 99, but the target vocabulary has the ids 0 to 23",
        ),
        ({"forced_tokens": [[0, PAD_ID]]}, r"forced_tokens names token 0: padding \(0\)"),
        ({"forced_tokens": [[0, BOS_ID]]}, r"forced_tokens names token 2: .* never generated"),
    ],
)
def test_ids_that_options_must_not_name(fields: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_token_ids(SearchOptions(**fields), 24, SpecialIds())


def test_ids_that_options_may_name() -> None:
    banned = [[PAD_ID], [EOS_ID], [4, EOS_ID], [23]]
    options = SearchOptions(banned_sequences=banned, forced_tokens=[[3, EOS_ID]])
    check_token_ids(options, 24, SpecialIds())


def test_prefixes_come_back_as_plain_integers() -> None:
    rows = check_prefixes([np.array([4, 5]), []], [3, 1], 24, SpecialIds())
    assert rows == [[4, 5], []]
    assert type(rows[0][0]) is int


@pytest.mark.parametrize(
    ("prefixes", "message"),
    [
        ([[4]], "got 1 prefixes for 2 sentences: give one for each, empty if"),
        ([[], [24]], "the prefix of sentence 1 holds token 24: it must hold ids from 0 to 23"),
        ([[-1], []], "the prefix of sentence 0 holds token -1"),
        ([[4, PAD_ID], []], "the prefix of sentence 0 holds token 0: .* without padding"),
        ([[BOS_ID], []], "the prefix of sentence 0 holds token 2"),
        ([[EOS_ID], []], "the prefix of sentence 0 holds token 3"),
        ([[4, 4, 4], [4, 4]], "the prefix of sentence 1 has 2 tokens, .* at most 2, the end"),
    ],
)
def test_prefixes_that_cannot_be_are_refused(prefixes: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_prefixes(prefixes, [4, 2], 24, SpecialIds())
