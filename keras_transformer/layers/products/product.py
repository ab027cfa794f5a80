"""The product of activations and a matrix of weights, in float32 or of rounded factors.

Some processors (Intel's with AMX) multiply matrices of bfloat16 several times as fast as those of
float32, and add the products up in float32. oneDNN, which multiplies for TensorFlow, does so for
the float32 matrices of one of TensorFlow's operators if it is told to; everything between products
stays float32, unlike under Keras's policy "mixed_bfloat16". It is what TF32 is on GPUs.
"""

import os

import keras
import numpy as np
from keras import ops

from keras_transformer.tensors import Tensor

# What tells oneDNN; read once, at the first product.
_SETTING = "TF_SET_ONEDNN_FPMATH_MODE"
_BFLOAT16 = "BF16"

_rounds_factors = False


def multiply_in_bfloat16() -> bool:
    """Makes this process round the factors of products to bfloat16 from now on, if that is fast.

    It cannot be taken back, and reaches all that this process multiplies with TensorFlow, attention
    of any model included: call it where training is all that a process does, before its first
    product.

    Returns:
        Whether products are of bfloat16 now. They stay float32 on other backends, on a GPU, on a
        processor without instructions for matrices of bfloat16, and if the process multiplied
        before.
    """
    global _rounds_factors
    if is_tensorflow_on_a_processor():
        os.environ[_SETTING] = _BFLOAT16
        _rounds_factors = _is_rounded()
    return _rounds_factors


def product(
    left: Tensor, right: Tensor, *, transpose_left: bool = False, transpose_right: bool = False
) -> Tensor:
    """Multiplies by a matrix, with rounded factors after `multiply_in_bfloat16`.

    Args:
        left: `(..., rows, inner)`, or `(inner, rows)` with `transpose_left`.
        right: `(inner, columns)`, or `(columns, inner)` with `transpose_right`.
        transpose_left: Whether the left factor is transposed first.
        transpose_right: Whether the right one is.

    Returns:
        `(..., rows, columns)`.
    """
    if not _rounds_factors:
        left = ops.transpose(left) if transpose_left else left
        return ops.matmul(left, ops.transpose(right) if transpose_right else right)
    rows = left if transpose_left else ops.reshape(left, (-1, left.shape[-1]))
    products = _rounded_product(rows, right, transpose_left, transpose_right)
    if len(left.shape) == 2:
        return products
    return ops.reshape(products, (*ops.shape(left)[:-1], products.shape[-1]))


def is_tensorflow_on_a_processor() -> bool:
    """Whether TensorFlow is Keras's backend here and has no GPU."""
    if keras.backend.backend() != "tensorflow":
        return False
    import tensorflow as tf

    return not tf.config.list_physical_devices("GPU")


def _rounded_product(
    left: Tensor, right: Tensor, transpose_left: bool = False, transpose_right: bool = False
) -> Tensor:
    """Multiplies two matrices by the operator for batches, the one that oneDNN's setting reaches.

    A transposition of its own would take longer than the product, and the gradient of an index
    copies.
    """
    import tensorflow as tf

    factors = (tf.expand_dims(factor, 0) for factor in (left, right))
    products = tf.matmul(*factors, transpose_a=transpose_left, transpose_b=transpose_right)
    return tf.squeeze(products, 0)


def _is_rounded() -> bool:
    """Looks whether a factor that bfloat16 cannot hold is rounded to one that it can."""
    size = 64
    left = np.full((size, size), 1 + 2**-12, np.float32)
    return bool(_rounded_product(left, np.eye(size, dtype=np.float32))[0, 0] == 1)
