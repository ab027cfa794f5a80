"""The grammar of the demo corpus: every sentence pattern and how often it is used.

A random generator comes in, one English sentence with its Spanish translation leaves.
"""

from collections.abc import Callable
from itertools import accumulate
from random import Random

from keras_transformer.data import (
    demo_actions,
    demo_daily,
    demo_descriptions,
    demo_having,
    demo_whereabouts,
)

Pattern = Callable[[Random], tuple[str, str]]

# Relative frequencies.
PATTERNS: tuple[tuple[Pattern, int], ...] = (
    (demo_actions.state, 25),
    (demo_actions.ask, 7),
    (demo_actions.ask_with_word, 7),
    (demo_actions.join, 9),
    (demo_actions.relate, 3),
    (demo_descriptions.describe, 8),
    (demo_descriptions.ask_description, 3),
    (demo_descriptions.feel, 2),
    (demo_having.own, 6),
    (demo_whereabouts.exist, 4),
    (demo_whereabouts.locate, 5),
    (demo_having.like, 5),
    (demo_descriptions.profession, 1),
    (demo_whereabouts.origin, 2),
    (demo_having.have_relatives, 1),
    (demo_descriptions.compare, 2),
    (demo_descriptions.superlative, 1),
    (demo_daily.weather, 1),
    (demo_daily.tell_time, 1),
    (demo_daily.age, 1),
    (demo_daily.price, 2),
    (demo_daily.command, 3),
    (demo_daily.greet, 2),
    (demo_daily.address, 4),
    (demo_daily.appointment, 1),
)
_FUNCTIONS = tuple(pattern for pattern, _ in PATTERNS)
_CUMULATIVE = tuple(accumulate(weight for _, weight in PATTERNS))


def random_sentence(rng: Random) -> tuple[str, str]:
    """Return one sentence in English and its only Spanish translation.

    Args:
        rng: source of every choice; the same state gives the same sentence.
    """
    return rng.choices(_FUNCTIONS, cum_weights=_CUMULATIVE)[0](rng)
