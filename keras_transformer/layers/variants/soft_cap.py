"""Soft caps, which keep scores and logits within bounds (Bello et al. 2017, Gemma 2)."""

import keras
from keras import ops

from keras_transformer.tensors import Tensor


def soft_capped(values: Tensor, cap: float | None) -> Tensor:
    """Returns cap · tanh(values / cap), which lies within ± cap; the values if there is no cap.

    Half precisions cannot hold large caps: theirs are computed in float32.
    """
    if cap is None:
        return values
    exact = ops.cast(values, keras.backend.result_type(values.dtype, "float32"))
    return ops.cast(cap * ops.tanh(exact / cap), values.dtype)
