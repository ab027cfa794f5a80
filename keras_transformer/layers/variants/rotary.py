"""Rotary positions: queries and keys are turned by angles that grow with their places, so that a
score depends on the distance of the two alone (Su et al. 2021, section 3.2).
"""

import numpy as np
from keras import ops

from keras_transformer.config.positions.rotary import RotaryConfig
from keras_transformer.tensors import Tensor


def rotate(heads: Tensor, first_place: Tensor | int, rotary: RotaryConfig) -> Tensor:
    """Turns the pair of features (i, i + width / 2) by place · rates[i] radians.

    The paper pairs neighbours (2i, 2i + 1). Pairs of halves are the same up to the order of the
    features, and are what published decoders have (Llama, GPT-NeoX).

    Args:
        heads: `(batch, heads, length, width)`, floating; width even.
        first_place: int32 scalar, the place of the first vector. As distances alone count, padding
            before a sequence changes nothing.
        rotary: Says the angles.

    Returns:
        Shaped as `heads` and of its dtype; the angles are computed in float32.
    """
    half = heads.shape[-1] // 2
    places = ops.arange(ops.shape(heads)[2], dtype="int32") + first_place
    angles = ops.cast(places, "float32")[:, None] * rates(rotary, 2 * half)  # [T, K / 2]
    large = np.array(rotary.magnitudes(2 * half), "float32")
    cosines = ops.cast(ops.cos(angles) * large, heads.dtype)
    sines = ops.cast(ops.sin(angles) * large, heads.dtype)
    first, second = heads[..., :half], heads[..., half:]
    return ops.concatenate(
        [first * cosines - second * sines, second * cosines + first * sines], axis=-1
    )


def rates(rotary: RotaryConfig, width: int) -> np.ndarray:
    """Returns the angle of each pair at place 1: float32 `(width / 2,)`, in radians."""
    return np.array(rotary.rates(width), "float32")
