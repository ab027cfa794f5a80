"""Takes a linear layer in int8 and packs it for the operator `BytesLinear`: weights in blocks, and
each output's scale and bias.
"""

from typing import NamedTuple

import numpy as np

# As in `native/linear/linear.h`: outputs in a block, and weights of each output stored together.
_BLOCK, _PAIR = 16, 2


class PackedLinear(NamedTuple):
    """A linear layer in bytes.

    Attributes:
        values: int8 `(blocks, pairs, 16, 2)`: two weights of each of sixteen outputs.
        ends: float32 `(blocks, 2, 16)`: the scale of each output's sum, and its bias.
    """

    values: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(cls, lines: np.ndarray, scales: np.ndarray, bias: np.ndarray) -> "PackedLinear":
        """Packs int8 lines `(outputs, inputs)`, their scales and biases `(outputs,)`."""
        more = -len(lines) % _BLOCK
        lines = np.pad(lines, ((0, more), (0, -lines.shape[1] % _PAIR)))
        blocks = lines.reshape(-1, _BLOCK, lines.shape[1] // _PAIR, _PAIR)
        ends = np.pad(np.stack([scales, bias]), ((0, 0), (0, more))).reshape(2, -1, _BLOCK)
        return cls(
            np.ascontiguousarray(blocks.transpose(0, 2, 1, 3)),
            np.ascontiguousarray(ends.transpose(1, 0, 2)),
        )
