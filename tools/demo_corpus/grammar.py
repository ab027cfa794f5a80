"""The grammar of the demo corpus: every sentence pattern and how often it is used.

Takes a random generator and returns one English sentence with its Spanish translation.
"""

from collections.abc import Callable
from itertools import accumulate
from random import Random

from tools.demo_corpus import actions, daily, descriptions, having, whereabouts

Pattern = Callable[[Random], tuple[str, str]]

# Relative frequencies.
PATTERNS: tuple[tuple[Pattern, int], ...] = (
    (actions.state, 25),
    (actions.ask, 7),
    (actions.ask_with_word, 7),
    (actions.join, 9),
    (actions.relate, 3),
    (descriptions.describe, 8),
    (descriptions.ask_description, 3),
    (descriptions.feel, 2),
    (having.own, 6),
    (whereabouts.exist, 4),
    (whereabouts.locate, 5),
    (having.like, 5),
    (descriptions.profession, 1),
    (whereabouts.origin, 2),
    (having.have_relatives, 1),
    (descriptions.compare, 2),
    (descriptions.superlative, 1),
    (daily.weather, 1),
    (daily.tell_time, 1),
    (daily.age, 1),
    (daily.price, 2),
    (daily.command, 3),
    (daily.greet, 2),
    (daily.address, 4),
    (daily.appointment, 1),
)
_FUNCTIONS = tuple(pattern for pattern, _ in PATTERNS)
_CUMULATIVE = tuple(accumulate(weight for _, weight in PATTERNS))


def random_sentence(rng: Random) -> tuple[str, str]:
    """Return one sentence in English and its only Spanish translation.

    Args:
        rng: source of every choice; the same state gives the same sentence.
    """
    return rng.choices(_FUNCTIONS, cum_weights=_CUMULATIVE)[0](rng)
