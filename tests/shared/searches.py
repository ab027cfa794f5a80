"""The table of cases that every implementation of the search must solve alike, and the same search
written out naively.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import constraint_cases
import length_cases
import naive_search as naive
import plain_cases
import pytest
import sampling_cases

SEARCH_CASES = [
    case
    for part in (plain_cases, length_cases, constraint_cases, sampling_cases)
    for case in part.CASES
]


@pytest.fixture(params=SEARCH_CASES, ids=lambda case: case.name.replace(" ", "-"))
def search_case(request: pytest.FixtureRequest) -> Any:
    """Each case of the table in turn, a `SearchCase` of search_table."""
    case = request.param
    if case.expected is not None:
        return case
    found = [
        [ids for ids, _, _ in naive.naive_search(log_probs, **case.options, **case.sentence(place))]
        for place, log_probs in enumerate(case.log_probs)
    ]
    return dataclasses.replace(case, expected=found)


@pytest.fixture(scope="session")
def search_cases() -> list[Any]:
    """All cases of the table."""
    return SEARCH_CASES


@pytest.fixture(scope="session")
def naive_search() -> Callable[..., list[tuple[list[int], float, float]]]:
    """`naive_search(log_probs, **options)` of search_table: one sentence, as it is defined."""
    return naive.naive_search
