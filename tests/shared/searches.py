"""The table of cases that every implementation of the search must solve alike, and the same search
written out naively.
"""

import dataclasses
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

NAIVE_SEARCH = import_module("naive_search").naive_search
SEARCH_CASES = [
    case
    for part in ("plain", "length", "constraint", "sampling")
    for case in import_module(f"{part}_cases").CASES
]


@pytest.fixture(params=SEARCH_CASES, ids=lambda case: case.name.replace(" ", "-"))
def search_case(request: pytest.FixtureRequest) -> Any:
    """Each case of the table in turn, a `SearchCase` of search_table."""
    case = request.param
    if case.expected is not None:
        return case
    found = [
        [ids for ids, _, _ in NAIVE_SEARCH(log_probs, **case.options, **case.sentence(place))]
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
    return NAIVE_SEARCH
