"""Labels by how often they occur: their weights in the loss, and the lines that name them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

# Labels that a line names one by one; of more it has the first and the last.
_SHOWN = 12
_LAST = 3


def balanced_weights(counts: Sequence[int] | npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Returns the weight of each label: n / (labels · count), so that all labels weigh alike.

    The definition is scikit-learn's `class_weight="balanced"`. A label that no text has is not
    counted, and keeps a weight of 1.

    Args:
        counts: How many texts have each label.

    Example:
        >>> balanced_weights([30, 10]).tolist()
        [0.6666666865348816, 2.0]
    """
    counts = np.asarray(counts, np.float64)
    has_texts = counts > 0
    weights = np.ones(len(counts))
    weights[has_texts] = counts.sum() / (has_texts.sum() * counts[has_texts])
    return weights.astype(np.float32)


def counted(counts: Mapping[str, int]) -> str:
    """Returns how many labels there are and how often each occurs, the most frequent first.

    Example:
        >>> counted({"food": 30, "pet": 1200})
        '2: pet 1,200, food 30'
    """
    labels = sorted(counts, key=lambda label: (-counts[label], label))
    return f"{len(labels):,}: {listed(labels, [counts[label] for label in labels], ',')}"


def listed(labels: Sequence[str], values: Sequence[Any] | npt.NDArray[Any], form: str) -> str:
    """Returns labels with a number each; of many the first and the last.

    Args:
        labels: The labels.
        values: The number of each.
        form: How numbers are written, as `format` takes it.
    """
    shown = [f"{label} {value:{form}}" for label, value in zip(labels, values, strict=True)]
    if len(shown) > _SHOWN:
        left_out = len(shown) - _SHOWN
        first = _SHOWN - _LAST
        shown = [*shown[:first], f"{left_out:,} more", *shown[-_LAST:]]
    return ", ".join(shown)
