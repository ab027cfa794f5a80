"""The table of cases that every implementation of the search must solve alike, and the same search
written out naively.
"""

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import constraint_cases
import length_cases
import naive_search as naive
import numpy as np
import plain_cases
import pytest
import sampling_cases
from hypothesis import strategies as st

from keras_transformer.search.options import SearchOptions, length_penalty

# What a search finds of each sentence: ids, score and log-probability.
Found = Sequence[Sequence[tuple[list[int], float, float]]]

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


def agree(found: Found, expected: Found) -> None:
    """Checks that ids are the same, and numbers up to rounding."""
    assert [[ids for ids, _, _ in row] for row in found] == [
        [ids for ids, _, _ in row] for row in expected
    ]
    for row, others in zip(found, expected, strict=True):
        numbers = [numbers for _, *numbers in row], [numbers for _, *numbers in others]
        np.testing.assert_allclose(*numbers, rtol=1e-5, atol=1e-5)


def naive_of(case: Any) -> Found:
    """Returns what the naive search finds of a case of the table."""
    return [
        naive.naive_search(table, **case.options, **case.sentence(place))
        for place, table in enumerate(case.log_probs)
    ]


# Options that a search may have, with 9 ids in all.
_WORDS = st.integers(3, 8)  # With the end token.
CONSTRAINTS = {
    "length_penalty": st.sampled_from([0.0, 0.6, 1.0, 2.0]),
    "length_penalty_type": st.sampled_from(["gnmt", "exponent"]),
    "max_length_ratio": st.sampled_from([None, 0.5, 1.0, 1.7]),
    "no_repeat_ngram_size": st.integers(0, 3),
    "repetition_penalty": st.sampled_from([1.0, 0.7, 1.3, 5.0]),
    "banned_sequences": st.lists(st.lists(_WORDS, min_size=1, max_size=3), max_size=3),
    "forced_tokens": st.dictionaries(st.integers(0, 7), _WORDS, max_size=2).map(
        lambda forced: list(forced.items())
    ),
}
BEAMS = {
    "beam_size": st.integers(1, 4),
    "early_stopping": st.sampled_from(["first", "likely", "exact"]),
}
SAMPLES = {
    "num_hypotheses": st.integers(1, 4),
    "temperature": st.sampled_from([0.3, 1.0, 2.0]),
    "top_k": st.sampled_from([0, 1, 2, 5, 100]),
    "top_p": st.sampled_from([1.0, 0.3, 0.8]),
    "seed": st.integers(0, 1000),
}


def all_sequences(
    log_probs: np.ndarray, options: SearchOptions
) -> list[tuple[float, tuple[int, ...]]]:
    """Returns every sequence of three words up to the limit with its score, the best ones first.

    Args:
        log_probs: `(max_length, 6, 6)`, by step, last token and token.
        options: Its limit and length penalty; a sequence may be empty.
    """
    start, end, words, length = 2, 3, (1, 4, 5), options.max_length
    ended = ((*ids, end) for size in range(length) for ids in itertools.product(words, repeat=size))
    found = []
    for ids in (*ended, *itertools.product(words, repeat=length)):
        steps = enumerate(itertools.pairwise((start, *ids)))
        total = sum(float(log_probs[step, last, token]) for step, (last, token) in steps)
        text = tuple(token for token in ids if token != end)
        found.append((total / length_penalty(len(ids), options), text))
    return sorted(found, reverse=True)
