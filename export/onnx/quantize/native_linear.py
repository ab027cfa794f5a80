"""Linear layers in int8, packed for the operator `BytesLinear`: weights in blocks, and each
output's scale and bias.
"""

from typing import NamedTuple

import numpy as np

# As in `native/linear/linear.h`: outputs in a block, and weights of each output stored together.
_BLOCK, _PAIR = 16, 2
# As in `native/linear/byte_products.h`: the same for inputs in bytes, and the number that the count
# of such quads is a multiple of.
_QUAD, _QUADS = 4, 16


class PackedLinear(NamedTuple):
    """A linear layer in bytes.

    Attributes:
        values: int8 `(blocks, pairs, 16, 2)`: two weights of each of sixteen outputs, for inputs
            that are rounded to words; `(blocks, quads, 16, 4)` for inputs rounded to bytes.
        ends: float32 `(blocks, 2, 16)`: the scale of each output's sum, and its bias.
    """

    values: np.ndarray
    ends: np.ndarray

    @classmethod
    def for_words(cls, lines: np.ndarray, scales: np.ndarray, bias: np.ndarray) -> "PackedLinear":
        """Packs int8 lines `(outputs, inputs)`, their scales and biases `(outputs,)`."""
        return cls._pack(lines, scales, bias, _PAIR, _PAIR)

    @classmethod
    def for_bytes(cls, lines: np.ndarray, scales: np.ndarray, bias: np.ndarray) -> "PackedLinear":
        """Packs the same for inputs in bytes; the lines must be `summed` (`quantize_lines`)."""
        return cls._pack(lines, scales, bias, _QUAD, _QUAD * _QUADS)

    @classmethod
    def _pack(
        cls, lines: np.ndarray, scales: np.ndarray, bias: np.ndarray, together: int, multiple: int
    ) -> "PackedLinear":
        more = -len(lines) % _BLOCK
        # Filled up as `Screen` is: of a head, the file holds the same values once.
        lines = np.pad(lines, ((0, more), (0, 0)), "edge")
        lines = np.pad(lines, ((0, 0), (0, -lines.shape[1] % multiple)))
        blocks = lines.reshape(-1, _BLOCK, lines.shape[1] // together, together)
        ends = np.pad(np.stack([scales, bias]), ((0, 0), (0, more))).reshape(2, -1, _BLOCK)
        return cls(
            np.ascontiguousarray(blocks.transpose(0, 2, 1, 3)),
            np.ascontiguousarray(ends.transpose(1, 0, 2)),
        )
