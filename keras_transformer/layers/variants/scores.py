"""Scores of attention beside plain products: additive ones (Bahdanau et al. 2015, appendix A.1.2),
which section 3.2.1 of the paper compares with them, and soft caps, which keep scores and logits
within bounds (Bello et al. 2017, Gemma 2).
"""

import keras
from keras import ops

from keras_transformer.tensors import Tensor


def additive_scores(queries: Tensor, keys: Tensor, vectors: Tensor) -> Tensor:
    """Returns vᵀ tanh(q + k) for every query q and key k of a head.

    In between, there are key_dim numbers for each score.

    Args:
        queries: `(batch, heads, target_length, key_dim)`.
        keys: `(batch, key_value_heads, source_length, key_dim)`.
        vectors: The v of each head, `(heads, key_dim)`.

    Returns:
        `(batch, heads, target_length, source_length)`.
    """
    group = queries.shape[1] // keys.shape[1]
    keys = keys if group == 1 else ops.repeat(keys, group, axis=1)
    activated = ops.tanh(queries[:, :, :, None] + keys[:, :, None])
    weights = ops.cast(vectors, activated.dtype)[None, :, None, :, None]
    return ops.matmul(activated, weights)[..., 0]


def soft_capped(values: Tensor, cap: float | None) -> Tensor:
    """Returns cap · tanh(values / cap), which lies within ± cap; the values if there is no cap.

    Half precisions cannot hold large caps: theirs are computed in float32.
    """
    if cap is None:
        return values
    exact = ops.cast(values, keras.backend.result_type(values.dtype, "float32"))
    return ops.cast(cap * ops.tanh(exact / cap), values.dtype)
