"""Lets engines take turns, A B C, A B C, so that whatever slows the machine down for a while slows
all of them down, and returns the seconds of every turn.
"""

import math
from collections.abc import Callable, Mapping
from typing import Protocol

# Work that takes less is repeated within one turn.
_LEAST_SECONDS = 0.2


class Settles(Protocol):
    """What waits until it is idle."""

    def settle(self) -> None:
        """Returns when it is."""


def take_turns(
    measures: Mapping[str, Callable[[int], float]], rounds: int, settling: Mapping[str, Settles]
) -> dict[str, list[float]]:
    """Measures every engine once a round, alone.

    Args:
        measures: For each engine a function that repeats the work as often as it is told and
            returns the mean seconds.
        rounds: Number of rounds, after one that only warms up.
        settling: For each engine what must be idle before the next one starts.

    Returns:
        For each engine the seconds of each round.
    """

    def turn(name: str, times: int) -> float:
        seconds = measures[name](times)
        settling[name].settle()
        return seconds

    for name in measures:
        turn(name, 1)
    times = {name: math.ceil(_LEAST_SECONDS / turn(name, 1)) for name in measures}
    seconds: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(rounds):
        for name in measures:
            seconds[name].append(turn(name, times[name]))
    return seconds
