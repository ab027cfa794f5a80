"""Of a product of test cases, the few that hold every choice: what the suite runs by default."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import pytest

Case = tuple[Hashable, ...]


def sampled(cases: Sequence[Case], times: int = 1) -> list[Any]:
    """Parameters of a test: all but the `covering` cases are marked `exhaustive`.

    Args:
        cases: Values of the parameters, in tuples of one length.
        times: As for `covering`.

    Returns:
        What `pytest.mark.parametrize` takes for these parameters.
    """
    return [pytest.param(*case, marks=marks) for case, marks in _marked(cases, times)]


def sampled_fixture(cases: Sequence[Case], times: int = 1) -> list[Any]:
    """As `sampled`, for the parameters of a fixture, each of which is a tuple."""
    return [pytest.param(case, marks=marks) for case, marks in _marked(cases, times)]


def some(cases: Iterable[Any], *kept: Any) -> list[Any]:
    """Parameters of a test or fixture of one value: all but `kept` are marked `exhaustive`."""
    return [
        pytest.param(case, marks=() if case in kept else pytest.mark.exhaustive) for case in cases
    ]


def _marked(cases: Sequence[Case], times: int) -> list[tuple[Case, Any]]:
    kept = set(covering(cases, times))
    return [
        (case, () if place in kept else pytest.mark.exhaustive) for place, case in enumerate(cases)
    ]


def covering(cases: Sequence[Case], times: int = 1) -> list[int]:
    """Chooses cases so that each value of each place occurs, and none much more often than others.

    Args:
        cases: Tuples of one length, such as `("encoder", "native", "int8")`.
        times: How often each value shall occur, or as often as it does if that is less.

    Returns:
        The places of the chosen cases, in order. Greedy, so few but not always the fewest.
    """
    missing = Counter(choice for case in cases for choice in enumerate(case))
    missing = Counter({choice: min(count, times) for choice, count in missing.items()})
    used: Counter[tuple[int, Hashable]] = Counter()
    left = list(range(len(cases)))
    chosen = []
    while missing.total():

        def gain(place: int) -> tuple[int, int]:
            choices = list(enumerate(cases[place]))
            return sum(missing[c] > 0 for c in choices), -sum(used[c] for c in choices)

        best = max(left, key=gain)
        left.remove(best)
        chosen.append(best)
        for choice in enumerate(cases[best]):
            used[choice] += 1
            missing[choice] = max(0, missing[choice] - 1)
    return sorted(chosen)
