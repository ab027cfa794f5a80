"""4-bit quantisation of matrices in blocks of inputs: for each output, so many neighbouring weights
share a scale and, if asked, a zero point. Scales are searched for the least squared error.
"""

from typing import NamedTuple

import numpy as np
import onnx

from keras_transformer.export.onnx.settings import Int4Form

BFLOAT16 = onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.BFLOAT16)
# Weights are (integer - zero point) · scale; without zero points of their own all have this one.
LARGEST, MIDDLE = 15, 8
# Shares of a block's range that its integers span: a smaller scale clips the largest weights and
# rounds all others more finely.
_SHARES = np.linspace(0.75, 1.1, 8, dtype=np.float32)
# Blocks whose scales are searched at a time, so that intermediate results stay in a cache.
_SEARCHED = 1 << 12


class Int4Blocks(NamedTuple):
    """A matrix in 4 bits.

    Attributes:
        values: uint8 `(outputs, blocks, block size)` of at most 15; inputs are filled up with
            weights of 0.
        scales: float32 `(outputs, blocks)`, which bfloat16 holds.
        zeros: uint8 `(outputs, blocks)` of at most 15.
    """

    values: np.ndarray
    scales: np.ndarray
    zeros: np.ndarray

    @classmethod
    def nearest(cls, lines: np.ndarray, form: Int4Form) -> "Int4Blocks":
        """Rounds float32 lines `(outputs, inputs)` to the nearest."""
        blocks = in_blocks(lines, form.block_size)
        values, scales = np.empty(blocks.shape, np.uint8), np.empty(blocks.shape[:2], np.float32)
        zeros = np.empty(blocks.shape[:2], np.uint8)
        step = max(1, _SEARCHED // blocks.shape[1])
        for start in range(0, len(blocks), step):
            rows = slice(start, start + step)
            scales[rows], zeros[rows] = find_scales(blocks[rows], form)
            values[rows] = rounded(blocks[rows], scales[rows], zeros[rows])
        return cls(values, scales, zeros)

    def lines(self, inputs: int) -> np.ndarray:
        """Returns what the integers stand for, without the filling: float32 `(outputs, inputs)`."""
        blocks = dequantized(self.values, self.scales, self.zeros)
        return blocks.reshape(len(blocks), -1)[:, :inputs]


def in_blocks(lines: np.ndarray, block_size: int) -> np.ndarray:
    """Divides lines `(outputs, inputs)` into `(outputs, blocks, block size)`, zeros at the end."""
    padded = np.pad(lines, ((0, 0), (0, -lines.shape[1] % block_size)))
    return padded.reshape(len(lines), -1, block_size)


def find_scales(blocks: np.ndarray, form: Int4Form) -> tuple[np.ndarray, np.ndarray]:
    """Finds the scale and the zero point with which each block has the least squared error.

    Args:
        blocks: float32 `(…, block size)`.
        form: Says whether zero points are searched, too.

    Returns:
        float32 scales, which bfloat16 holds, and uint8 zero points, both `(…)`.
    """
    grids = _of_range if form.zero_points else _of_largest
    least = np.full(blocks.shape[:-1], np.inf, np.float32)
    scales, zeros = np.ones_like(least), np.full(least.shape, MIDDLE, np.uint8)
    for found in (_of_levels(blocks, form), *(grids(blocks, share) for share in _SHARES)):
        moved = _nearest(blocks, *found) * found[0][..., None] - blocks
        error = np.einsum("...i,...i->...", moved, moved)
        better = error < least
        least = np.where(better, error, least)
        scales, zeros = np.where(better, found[0], scales), np.where(better, found[1], zeros)
    return scales, zeros


def rounded(blocks: np.ndarray, scales: np.ndarray, zeros: np.ndarray) -> np.ndarray:
    """Returns the nearest integers: uint8, shaped as the blocks `(…, block size)`."""
    return (_nearest(blocks, scales, zeros) + zeros[..., None]).astype(np.uint8)


def dequantized(values: np.ndarray, scales: np.ndarray, zeros: np.ndarray) -> np.ndarray:
    """Returns what integers `(…, block size)` stand for, as float32."""
    return (values.astype(np.float32) - zeros[..., None]) * scales[..., None]


def _nearest(blocks: np.ndarray, scales: np.ndarray, zeros: np.ndarray) -> np.ndarray:
    """Returns the nearest integers less their zero points, as float32."""
    integers = blocks * (1 / scales)[..., None]
    np.rint(integers, out=integers)
    lowest = -zeros[..., None].astype(np.float32)
    return np.clip(integers, lowest, lowest + LARGEST, out=integers)


def _of_largest(blocks: np.ndarray, share: np.float32) -> tuple[np.ndarray, np.ndarray]:
    """Maps a block's largest weight, whichever its sign, to the end that is farther away."""
    largest = np.take_along_axis(blocks, np.abs(blocks).argmax(axis=-1)[..., None], -1)[..., 0]
    return _held(largest / -MIDDLE * share), np.full(largest.shape, MIDDLE, np.uint8)


def _of_range(blocks: np.ndarray, share: np.float32) -> tuple[np.ndarray, np.ndarray]:
    """Maps a block's range, with zero, to all integers."""
    low, high = np.minimum(blocks.min(axis=-1), 0), np.maximum(blocks.max(axis=-1), 0)
    scales = _held((high - low) / LARGEST * share)
    middle = (high + low) / 2
    zeros = np.clip(np.rint(LARGEST / 2 - middle / scales), 0, LARGEST)
    return scales, zeros.astype(np.uint8)


def _of_levels(blocks: np.ndarray, form: Int4Form) -> tuple[np.ndarray, np.ndarray]:
    """Takes the least step between weights, so that those which had 4 bits keep their integers.

    GPTQ's and AWQ's, which `import` reads, come here as floats.
    """
    ordered = np.sort(blocks, axis=-1)
    low, high = ordered[..., 0], ordered[..., -1]
    steps, span = np.diff(ordered, axis=-1), high - low
    # Smaller ones are those of rounding.
    is_step = steps > span[..., None] / (2 * LARGEST)
    scales = _held(np.where(is_step, steps, span[..., None]).min(axis=-1))
    zeros = np.full(scales.shape, MIDDLE, np.uint8)
    if form.zero_points:
        zeros = np.clip(np.rint(-low / scales), 0, LARGEST).astype(np.uint8)
    return scales, zeros


def _held(scales: np.ndarray) -> np.ndarray:
    """Rounds scales to bfloat16; those of zeros become 1."""
    scales = scales.astype(BFLOAT16).astype(np.float32)
    return np.where(np.abs(scales) >= np.finfo(np.float32).tiny, scales, np.float32(1))
