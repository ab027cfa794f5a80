"""Low confidence: whether the mean log-probability of a translation's tokens is below a threshold
calibrated on validation sentences.
"""

import math
from collections.abc import Iterable, Sequence

# Of translations like those of the validation sentences this share is flagged.
FLAGGED_SHARE = 0.01


def token_score(ids: Sequence[int], log_probability: float) -> float:
    """Returns a translation's log-probability a token in nats, its end token counted."""
    return log_probability / (len(ids) + 1)


def is_low(ids: Sequence[int], log_probability: float, min_score: float | None) -> bool | None:
    """Returns whether a translation scores less than `min_score` a token; None if that is None."""
    return None if min_score is None else token_score(ids, log_probability) < min_score


def calibrated(scores: Iterable[float]) -> float | None:
    """Returns the threshold below which `FLAGGED_SHARE` of these scores lie.

    Args:
        scores: `token_score` of a model's own translations of validation sentences. Infinite
            ones, of sentences without a translation, are left out.

    Returns:
        One of them, the lowest if there are few; None if there are none.
    """
    ordered = sorted(score for score in scores if math.isfinite(score))
    return ordered[int(FLAGGED_SHARE * len(ordered))] if ordered else None


def check_min_score(min_score: float | None) -> None:
    """Raises `ValueError` if a threshold cannot be a mean of log-probabilities."""
    if min_score is not None and not (math.isfinite(min_score) and min_score <= 0):
        raise ValueError(
            f"min_score is a log-probability a token, finite and at most 0, got {min_score}."
        )
