"""tools/covering.py: every choice is kept, by few cases."""

import itertools
from collections import Counter

import pytest

from tools.covering import covering, sampled, sampled_fixture, some

PRODUCT = list(itertools.product("abcde", range(4), (None, "int8")))


@pytest.mark.parametrize("times", [1, 2])
def test_each_value_occurs_as_often_as_asked_by_few_cases(times: int) -> None:
    chosen = [PRODUCT[place] for place in covering(PRODUCT, times)]
    counts = Counter(choice for case in chosen for choice in enumerate(case))
    assert counts.keys() == {choice for case in PRODUCT for choice in enumerate(case)}
    assert min(counts.values()) >= times and len(chosen) == 5 * times
    # Those of a place with few values are spread evenly.
    assert max(counts[2, None], counts[2, "int8"]) <= 3 * times


def test_a_value_that_is_rare_occurs_as_often_as_it_does() -> None:
    cases = [("a", 1), ("a", 2), ("a", 2), ("b", 2)]
    assert covering(cases, times=2) == [0, 1, 3]


def test_a_single_list_is_kept_whole() -> None:
    assert covering([("a",), ("b",), ("c",)]) == [0, 1, 2]


@pytest.mark.parametrize("left_out", [sampled(PRODUCT), sampled_fixture(PRODUCT)])
def test_what_is_left_out_is_exhaustive(left_out: list) -> None:
    marked = [place for place, one in enumerate(left_out) if one.marks]
    assert sorted([*marked, *covering(PRODUCT)]) == list(range(len(PRODUCT)))
    assert {mark.name for one in left_out for mark in one.marks} == {"exhaustive"}


def test_a_fixture_is_given_tuples_and_a_test_their_values() -> None:
    assert sampled([("a", 1)])[0].values == ("a", 1)
    assert sampled_fixture([("a", 1)])[0].values == (("a", 1),)


def test_some_are_kept_and_the_others_left_for_later() -> None:
    found = some(["a", {"b": 1}, "c"], {"b": 1})
    assert [one.values for one in found] == [("a",), ({"b": 1},), ("c",)]
    assert [bool(one.marks) for one in found] == [True, False, True]
