"""Phrases of rows: those that cannot be are refused, and those that stand in others left out."""

from typing import Any

import pytest

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.search.model_limits import ModelLimits
from keras_transformer.search.options import SearchOptions
from keras_transformer.search.phrases import (
    by_open_hypotheses,
    check_phrases,
    open_hypotheses,
    phrase_table,
    that_fit,
    with_slots,
)

SPECIAL_IDS = SpecialIds(slots=(20, 21))


def check(phrases: Any, limit: int = 9, prefix: Any = (), **options: Any) -> Any:
    return check_phrases([phrases], SearchOptions(**options), [limit], [prefix], 24, SPECIAL_IDS)


@pytest.mark.parametrize(
    ("phrases", "given", "message"),
    [
        ([()], {}, "the phrases of row 0 have one without any form"),
        ([((),)], {}, "the phrases of row 0 have an empty one"),
        ([((4, 24),)], {}, "row 0 hold token 24: they must hold ids of text from 0 to 23"),
        ([((4, SPECIAL_IDS.eos),)], {}, "row 0 hold token 3"),
        ([((4, SPECIAL_IDS.unk),)], {}, "row 0 hold token 1"),
        ([((20,),)], {}, "row 0 hold token 20"),
        ([((4, 5),), ((6,), (7, 8))], {"limit": 2}, "have 3 tokens, and there is room for 2"),
        ([((4, 5),)], {"limit": 4, "prefix": [7, 8, 9]}, "have 2 tokens, .* room for 1"),
        ([((4, 5),)], {"limit": 3, "forced_tokens": [[1, 7]]}, "room for 1"),
        ([((4, 5, 6),)], {"banned_sequences": [[5, 6]]}, r"hold \[5, 6\], one of banned"),
        (
            [((4,) * 99,), ((5,),), ((6,),)],
            {"limit": 200},
            "are 3 x 1 x 99 phrases, forms and tokens of the longest, together more than 256",
        ),
        ([((4,),)], {"sample": True}, "do not go with sample, got True: leave one"),
        ([((4,),)], {"stop_tokens": [5]}, "do not go with stop_tokens"),
        ([], {"require": ["word"]}, r"require=\['word'\] needs a tokenizer"),
        ([((4,),)], {"ban": ["word"]}, r"ban=\['word'\] needs a tokenizer"),
    ],
)
def test_phrases_that_cannot_be_are_refused(phrases: Any, given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check(phrases, **given)


@pytest.mark.parametrize(
    ("phrases", "kept"),
    [
        ([((4, 5),), ((4, 5),)], [((4, 5),)]),
        ([((5,),), ((4, 5, 6),)], [((4, 5, 6),)]),
        ([((4, 5),), ((5, 4),)], [((4, 5),), ((5, 4),)]),
        # Another form of the longer one is without it.
        ([((5,),), ((4, 5), (6,))], [((5,),), ((4, 5), (6,))]),
        ([((5,), (6,)), ((4, 5), (6,))], [((4, 5), (6,))]),
    ],
)
def test_what_stands_in_another_phrase_is_left_out(phrases: Any, kept: Any) -> None:
    assert check(phrases) == [tuple(kept)]


def test_phrases_must_be_those_of_all_rows() -> None:
    with pytest.raises(ValueError, match=r"phrases for 1 of 2 rows: give \(\) for none"):
        check_phrases([[((4,),)]], SearchOptions(), [9, 9], [[], []], 24, SPECIAL_IDS)


def test_a_hypothesis_is_kept_for_each_number_of_tokens() -> None:
    options, wide = SearchOptions(), SearchOptions(beam_size=5)
    rows = [(), (((4,),),), (((4, 5, 6), (7, 8, 9)),), (((4,),),), (((4,) * 99,),)]
    assert [open_hypotheses(own, options) for own in rows[1:]] == [2, 4, 2, 16]
    assert [open_hypotheses(own, wide) for own in rows[1:]] == [5, 5, 5, 16]
    assert by_open_hypotheses(rows, options) == [[0], [1, 3], [2], [4]]


def test_tables_of_many_phrases_are_not_padded_for_long_ones() -> None:
    rows = [[((4,),)] * 16, [((4,) * 16,)], [((4,) * 8,)] * 2]
    assert by_open_hypotheses(rows, SearchOptions()) == [[2], [1], [0]]


def test_terms_that_do_not_fit_are_left_out() -> None:
    own, terms = [((4,),)], [((5, 6), (7,)), ((8,) * 9,), ((9,),)]
    assert that_fit(own, terms, 3, SearchOptions()) == (*own, terms[0], terms[2])
    forced = SearchOptions(forced_tokens=[[0, 5]], banned_sequences=[[9], [7]])  # type: ignore[arg-type]
    assert that_fit(own, terms, 4, forced) == (*own, ((5, 6),))
    assert len(that_fit(own, [((5,),)] * 999, 999, SearchOptions())) == 256


def test_slots_of_a_source_take_their_room() -> None:
    limits = ModelLimits(source_vocab_size=24, target_vocab_size=24, special_ids=SPECIAL_IDS)
    given = [[((4, 5),)]], [[20, 21]], SearchOptions()
    assert limits.check_phrases(*given, [4], [[]]) == [(((4, 5),), ((20,),), ((21,),))]
    with pytest.raises(ValueError, match="have 2 tokens, and there is room for 1"):
        limits.check_phrases(*given, [3], [[]])


def test_slots_of_a_source_are_phrases_beside_others() -> None:
    own = (((4,),),)
    found = with_slots([own, ()], [[21, 7], [21, 7]], SPECIAL_IDS.slots)
    assert found == [(*own, ((21,),)), ()]


def test_tables_are_padded() -> None:
    table = phrase_table([[((4, 5),)], [((6,), (7,)), ((8,),)]])
    assert table.tolist() == [
        [[[4, 5], [-1, -1]], [[-1, -1], [-1, -1]]],
        [[[6, -1], [7, -1]], [[8, -1], [-1, -1]]],
    ]
