"""How surprising ids are to a model: the lower, the better it predicts them."""

import numpy as np


def nats(logits: np.ndarray, ids: list[int]) -> float:
    """Returns the negative log-probability of ids.

    Args:
        logits: `(length, vocabulary)`.
        ids: The id in each place.
    """
    shifted = logits.astype(np.float64)
    shifted -= shifted.max(axis=1, keepdims=True)
    chosen = shifted[np.arange(len(ids)), ids]
    return float((np.log(np.exp(shifted).sum(axis=1)) - chosen).sum())
