"""Low confidence of a translation: a mean log-probability per token below a threshold calibrated on
validation sentences or, without scores, signs of babble.
"""

import dataclasses
import math
from collections.abc import Iterable, Sequence

from keras_transformer.search.options import Hypothesis, SearchOptions

# Of translations like those of the validation sentences this share is flagged.
FLAGGED_SHARE = 0.01
# Babble says tokens over and over: up to so many, so often in a row.
_LONGEST_REPEATED, _MOST_COPIES = 8, 3
# The longer side of a translation has at most so many tokens for each of the shorter one.
_MOST_TIMES, _MOST_MORE = 4, 16


def token_score(ids: Sequence[int], log_probability: float) -> float:
    """Returns a translation's mean log-probability per token in nats, including its end token."""
    return log_probability / (len(ids) + 1)


def perplexity(log_probability: float, tokens: int) -> float:
    """Returns exp of the mean negative log-probability a token; infinity above all numbers.

    Args:
        log_probability: Of all tokens together, in nats.
        tokens: How many they are, end tokens included.

    Example:
        >>> perplexity(-3000.0, 4)
        inf
    """
    try:
        return math.exp(-log_probability / tokens)
    except OverflowError:
        return math.inf


def is_low(ids: Sequence[int], log_probability: float, min_score: float) -> bool:
    """Returns whether a translation's mean log-probability per token is below `min_score`."""
    return token_score(ids, log_probability) < min_score


def looks_like_babble(source: Sequence[int], ids: Sequence[int], *, is_cut: bool) -> bool:
    """Returns whether a translation shows signs of babble, which need no scores.

    Args:
        source: Tokens of its source, without end token.
        ids: Its tokens, without end token.
        is_cut: Whether it ended at its limit.

    Returns:
        True if it is cut, repeats itself where its source does not, or is far longer or shorter.
    """
    shorter, longer = sorted((len(source), len(ids)))
    if is_cut or longer > _MOST_TIMES * shorter + _MOST_MORE:
        return True
    copies = _copies_in_a_row(ids)
    return copies > _MOST_COPIES and copies > _copies_in_a_row(source)


def judged(one: Hypothesis, source: Sequence[int], options: SearchOptions) -> Hypothesis:
    """Returns a hypothesis; one without a score gets `low_confidence` by signs of babble.

    Args:
        one: The hypothesis.
        source: Tokens of its source, without end token.
        options: The options of its search.
    """
    if not math.isnan(one.log_probability):
        return one
    # A smaller limit than the default was somebody's wish.
    is_cut = one.stop_reason == "length" and options.max_length >= SearchOptions.max_length
    low = looks_like_babble(source, one.ids, is_cut=is_cut)
    return dataclasses.replace(one, low_confidence=low)


def _copies_in_a_row(ids: Sequence[int]) -> int:
    """Returns the most times that a sequence of tokens occurs in a row; 1 if none is repeated."""
    if len(ids) - len(set(ids)) < _MOST_COPIES:
        return 1
    most = 0
    for width in range(1, min(_LONGEST_REPEATED, len(ids) // 2) + 1):
        equal = 0
        for place in range(width, len(ids)):
            equal = equal + 1 if ids[place] == ids[place - width] else 0
            most = max(most, equal // width)
    return most + 1


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
