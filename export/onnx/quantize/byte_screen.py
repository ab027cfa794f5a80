"""A vocabulary's matrix in bytes, as this package's token-ranking operators read it."""

from typing import NamedTuple

import numpy as np

from keras_transformer.export.onnx.quantize.int8_matrices import quantize_lines, row_blocks

# As in `native/linear/byte_products.h`: tokens in a block, bytes of each token stored together, and
# the number that the count of such quads is a multiple of.
_TOKENS, _BYTES, _QUADS = 16, 4, 16
# As in `native/ranking/byte_head.cc`: the offset that is added to states in bytes.
_MIDDLE = 128


class ByteScreen(NamedTuple):
    """A vocabulary's matrix in bytes; `native/ranking/best_token.cc` explains its use.

    Attributes:
        values: int8 `(blocks, quads, 16, 4)`: four bytes of each of sixteen tokens.
        starts: int32 `(blocks, 16)`: cancels the states' offset in each token's products.
        bounds: float32 `(blocks, 3, 16)`: for each token the bytes' step, ‖w - ŵ‖ and ‖ŵ‖.
    """

    values: np.ndarray
    starts: np.ndarray
    bounds: np.ndarray

    @classmethod
    def of(cls, matrix: np.ndarray) -> "ByteScreen":
        """Rounds a float32 matrix `(vocabulary, model_dim)`."""
        values, steps = quantize_lines(matrix, axis=0, summed=True)
        norm, error = np.empty_like(steps), np.empty_like(steps)
        for rows in row_blocks(matrix):
            rounded = values[rows] * steps[rows, None]
            norm[rows] = np.linalg.norm(rounded, axis=1)
            error[rows] = np.linalg.norm(matrix[rows] - rounded, axis=1)
        # More than the rounding error of float32 products with it.
        error += 8 * matrix.shape[1] * np.finfo(np.float32).eps * norm
        return cls.packed(values, steps, error, norm)

    @classmethod
    def packed(
        cls,
        values: np.ndarray,
        steps: np.ndarray,
        error: np.ndarray | float = 0.0,
        norm: np.ndarray | float = 0.0,
    ) -> "ByteScreen":
        """Packs int8 `(vocabulary, model_dim)`, `summed`; without bounds it is the exact matrix."""
        bounds = np.stack(np.broadcast_arrays(steps, error, norm), axis=1)
        # The last token fills up the last block: bounds there must belong to some token.
        more = (0, -len(values) % _TOKENS), (0, 0)
        values, bounds = np.pad(values, more, "edge"), np.pad(bounds, more, "edge")
        values = np.pad(values, ((0, 0), (0, -values.shape[1] % (_QUADS * _BYTES))))
        blocks = values.reshape(-1, _TOKENS, values.shape[1] // _BYTES, _BYTES)
        return cls(
            np.ascontiguousarray(blocks.transpose(0, 2, 1, 3)),
            -_MIDDLE * blocks.sum(axis=(2, 3), dtype=np.int32),
            np.ascontiguousarray(
                bounds.reshape(-1, _TOKENS, 3).transpose(0, 2, 1).astype(np.float32)
            ),
        )
