"""The random numbers of samples: the same for Keras and onnxruntime, however sentences are batched.

Needs numpy only.
"""

import secrets

import numpy as np
import numpy.typing as npt


def fresh_seed() -> int:
    """Returns a random seed, for options without one."""
    return secrets.randbits(63)


def uniforms(seed: int, sentence: int, rank: int, length: int) -> npt.NDArray[np.float64]:
    """Returns the random numbers of one sample, one for each position.

    A shorter row is the beginning of a longer one, so a sample does not depend on `length` either.

    Args:
        seed: `SearchOptions.seed`.
        sentence: The sentence's place among the inputs, from 0.
        rank: The sample's place among those of its sentence, from 0.
        length: Positions.

    Returns:
        float64 `(length,)` in [0, 1).

    Example:
        >>> bool((uniforms(7, 0, 1, 3) == uniforms(7, 0, 1, 5)[:3]).all())
        True
    """
    return np.random.default_rng([seed, sentence, rank]).random(length)
