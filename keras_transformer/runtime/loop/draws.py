"""The draw of one candidate a row, from sorted log-probabilities and uniform random numbers."""

import numpy as np
import numpy.typing as npt

from keras_transformer.runtime.loop.requests import Rows, Values
from keras_transformer.search.options import SearchOptions


def draw(log_probs: Values, options: SearchOptions, uniform: npt.NDArray[np.float64]) -> Rows:
    """Draws a rank for each row by inverting its cumulative distribution.

    Args:
        log_probs: `(rows, count)`, best first; -inf for forbidden candidates.
        options: `temperature`, `top_k` and `top_p`.
        uniform: Numbers in [0, 1), `(rows,)`.

    Returns:
        Ranks `(rows,)`; 0 if everything is forbidden.
    """
    values = log_probs[:, : options.top_k or None].astype(np.float64)
    best = values[:, :1]
    with np.errstate(invalid="ignore"):
        weights = np.exp((values - best) / options.temperature)
    weights = np.where(np.isfinite(values), weights, 0.0)
    reached = np.cumsum(weights, axis=1)
    # The fewest that reach top_p: a candidate is kept if those before it do not reach it yet.
    kept = reached - weights < options.top_p * reached[:, -1:]
    total = np.max(np.where(kept, reached, 0.0), axis=1, keepdims=True)
    return np.argmax(reached > uniform[:, None] * total, axis=1)
