"""Scaled dot-product attention by Keras's own operator, whose backends have kernels that never
store the attention weights (Dao et al. 2022).
"""

from typing import Any

import keras
from keras import ops

from keras_transformer.tensors import Tensor


def can_fuse(queries: Tensor, keys: Tensor, values: Tensor) -> bool:
    """Returns whether a kernel is worth trying, with arguments as for `fused_attention`.

    There are kernels on JAX for GPUs and half precisions, for queries and values of one width and
    for even lengths. `keras.config.disable_flash_attention()` turns them off.
    """
    lengths = queries.shape[2], keys.shape[2]
    return (
        keras.config.is_flash_attention_enabled() is not False
        and has_kernels(queries.dtype)
        and keys.shape[-1] == values.shape[-1]
        and all(isinstance(length, int) and length % 2 == 0 for length in lengths)
    )


def has_kernels(dtype: Any) -> bool:
    """Returns whether the backend has kernels for a dtype on this machine."""
    name = keras.backend.standardize_dtype(dtype)
    if keras.backend.backend() != "jax" or name not in ("bfloat16", "float16"):
        return False
    import jax

    return jax.default_backend() == "gpu"


def fused_attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    keep_mask: Tensor | None,
    bias: Tensor | None,
    scale: float,
) -> Tensor:
    """Returns softmax(scale · QKᵀ + bias)V, by a fused kernel if the backend finds one that fits.

    A query without any key gets finite numbers that mean nothing.

    Args:
        queries: `(batch, heads, target_length, key_dim)`.
        keys: `(batch, key_value_heads, source_length, key_dim)`.
        values: As `keys`.
        keep_mask: Boolean, broadcasts to `(batch, heads, target_length, source_length)`.
        bias: Broadcasts like `keep_mask`.
        scale: Factor of the scores.

    Returns:
        `(batch, heads, target_length, key_dim)`.
    """
    lengths = queries.shape[2], keys.shape[2]
    query, key, value = (ops.transpose(part, (0, 2, 1, 3)) for part in (queries, keys, values))
    # Kernels broadcast over the batch and the heads only.
    mask, added = (
        None if part is None else ops.broadcast_to(part, (*part.shape[:-2], *lengths))
        for part in (keep_mask, bias)
    )
    heads = ops.dot_product_attention(query, key, value, bias=added, mask=mask, scale=scale)
    return ops.transpose(heads, (0, 2, 1, 3))
