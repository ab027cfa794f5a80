"""A translation has each slot of its source exactly once, whatever the model would rather write."""

import numpy as np
import pytest

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.runtime.loop.constraints import Constraints
from keras_transformer.runtime.loop.requests import SearchRequest
from keras_transformer.search.options import SearchOptions

SPECIAL_IDS = SpecialIds(slots=(4, 5, 6))
VOCABULARY = 9
EOS, WORD = 3, 7


def apply(said: list[int], source: list[int], log_probs: dict[int, float], limit: int) -> list[int]:
    """Returns the tokens that may come next; those that are not named are improbable."""
    options = SearchOptions(max_length=limit, min_length=0)
    request = SearchRequest(
        options=options, special_ids=SPECIAL_IDS, limits=[limit], sources=[source]
    )
    logits = np.full((1, VOCABULARY), -20, np.float32)
    for token, value in log_probs.items():
        logits[0, token] = value
    found = Constraints(request).apply(logits, np.array([said], np.int32), np.zeros(1, np.int64))
    return np.flatnonzero(np.isfinite(found[0])).tolist()


@pytest.mark.parametrize(
    ("said", "source", "best", "limit", "allowed"),
    [
        ([7], [4, 6, 7], WORD, 9, [1, 4, 6, 7, 8]),
        ([7, 6], [4, 6, 7], WORD, 9, [1, 4, 7, 8]),
        ([4, 6], [4, 6, 7], WORD, 9, [1, 3, 7, 8]),
        ([7], [7, 8], WORD, 9, [1, 3, 7, 8]),
        # Where it would end, or has no room for more, a slot comes.
        ([7, 6], [4, 6, 7], EOS, 9, [4]),
        ([7], [4, 6, 7], WORD, 3, [4, 6]),
    ],
)
def test_slots_that_are_left_and_no_others_may_come(
    said: list[int], source: list[int], best: int, limit: int, allowed: list[int]
) -> None:
    assert apply(said, source, {best: 1.0}, limit) == allowed
