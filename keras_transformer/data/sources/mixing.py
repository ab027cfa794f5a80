"""Mixes general text into a corpus of one's own, so that a model that is fine-tuned on it keeps
what it knows (Chu et al. 2017, "An Empirical Comparison of Domain Adaptation Methods").
"""

import numpy as np

from keras_transformer.data.sources.corpus import Pairs

# The sample is a part of the corpus, not of a run: runs with other seeds see the same pairs.
_SEED = 0


def check_share(share: float) -> None:
    """Raises `ValueError` if a share of general pairs is not in (0, 1)."""
    if not 0 < share < 1:
        raise ValueError(f"general_share is a share in (0, 1), got {share}.")


def mixed(own: Pairs, general: Pairs, share: float) -> Pairs:
    """Returns one's own pairs, then a sample of general ones.

    Args:
        own: All of these are taken.
        general: Of these as many, drawn without replacement, as make up the share; all if there
            are not so many.
        share: Of the general pairs among those that are returned, in (0, 1).

    Raises:
        ValueError: The share is out of range.
    """
    check_share(share)
    wanted = max(round(len(own) * share / (1 - share)), 1)
    chosen = list(range(len(general)))
    if wanted < len(general):
        drawn = np.random.default_rng(_SEED).choice(len(general), wanted, replace=False)
        chosen = sorted(drawn.tolist())
    source, target = (
        [side[place] for place in chosen] for side in (general.source, general.target)
    )
    return own.joined(Pairs(source, target, general.origin))
