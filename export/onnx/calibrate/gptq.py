"""GPTQ (Frantar et al. 2022): weights are rounded input by input, and those of the inputs that
follow make up for each error, by the second moments of the inputs on calibration texts.
"""

import numpy as np

from keras_transformer.export.onnx.quantize.int4_blocks import (
    Int4Blocks,
    dequantized,
    find_scales,
    in_blocks,
    rounded,
)
from keras_transformer.export.onnx.settings import Int4Form

# Share of the mean of the moments' diagonal that is added to it, as in the paper.
_DAMPING = 0.01
# Outputs that are rounded at a time, so that their weights stay in a cache.
_OUTPUTS = 1 << 12


def gptq(lines: np.ndarray, moments: np.ndarray, form: Int4Form) -> Int4Blocks:
    """Quantises lines so that their products with the calibration's inputs change little.

    Args:
        lines: float32 `(outputs, inputs)`.
        moments: Sums of the products of every two inputs over the texts, `(inputs, inputs)`.
        form: The form of the weights.
    """
    factor = _inverse_factor(moments, -(-lines.shape[1] // form.block_size) * form.block_size)
    parts = [
        _rounded_in_order(lines[start : start + _OUTPUTS], factor, form)
        for start in range(0, len(lines), _OUTPUTS)
    ]
    return Int4Blocks(*map(np.concatenate, zip(*parts, strict=True)))


def _inverse_factor(moments: np.ndarray, width: int) -> np.ndarray:
    """Returns the upper Cholesky factor of the inverse of the moments, filled up to a width."""
    filled = np.eye(width)
    inputs = len(moments)
    filled[:inputs, :inputs] = moments
    diagonal = np.diag(moments)
    # An input that is always zero may have any weight.
    damping = _DAMPING * float(diagonal.mean()) or 1.0
    filled[range(inputs), range(inputs)] += damping
    inverse = np.linalg.inv(filled)
    return np.linalg.cholesky((inverse + inverse.T) / 2).T.astype(np.float32)


def _rounded_in_order(lines: np.ndarray, factor: np.ndarray, form: Int4Form) -> Int4Blocks:
    """Rounds the weights of each input, and moves its error to the inputs that follow."""
    weights = in_blocks(lines, form.block_size).copy()
    values = np.empty(weights.shape, np.uint8)
    scales = np.empty(weights.shape[:2], np.float32)
    zeros = np.empty(weights.shape[:2], np.uint8)
    flat = weights.reshape(len(weights), -1)
    for block in range(weights.shape[1]):
        first, last = block * form.block_size, (block + 1) * form.block_size
        own = scales[:, block], zeros[:, block]
        own[0][:], own[1][:] = find_scales(weights[:, block], form)
        errors = np.empty_like(weights[:, block])
        for place in range(form.block_size):
            column = first + place
            values[:, block, place] = rounded(flat[:, column, None], *own)[:, 0]
            held = dequantized(values[:, block, place, None], *own)[:, 0]
            error = (flat[:, column] - held) / factor[column, column]
            flat[:, column:last] -= error[:, None] * factor[column, column:last]
            errors[:, place] = error
        flat[:, last:] -= errors @ factor[first:last, last:]
    return Int4Blocks(values, scales, zeros)
