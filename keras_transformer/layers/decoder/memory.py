"""The memory of Transformer-XL (Dai et al. 2019, section 3.2): what the blocks of a decoder read of
a text's segments so far, which the next one attends to and no gradient goes through.
"""

from collections.abc import Sequence
from typing import NamedTuple

from keras import ops

from keras_transformer.layers.masks import attention_mask
from keras_transformer.tensors import Tensor


class Memory(NamedTuple):
    """The newest M tokens of each row, as the blocks read them.

    Attributes:
        keep_mask: Boolean `(batch, M)`, True where a token is remembered.
        states: For each block `(batch, M, model_dim)`, its inputs.
    """

    keep_mask: Tensor
    states: Sequence[Tensor]

    @classmethod
    def empty(
        cls, blocks: int, rows: Tensor | int, length: int, width: int, dtype: str
    ) -> "Memory":
        """Returns the memory of nothing.

        Args:
            blocks: The decoder's number of layers N.
            rows: Texts of a batch.
            length: Tokens M to remember.
            width: The states'.
            dtype: The states', the type that the model computes in.
        """
        states = [ops.zeros((rows, length, width), dtype) for _ in range(blocks)]
        return cls(ops.zeros((rows, length), "bool"), states)

    @property
    def length(self) -> int:
        """Tokens M that there is room for."""
        return int(self.keep_mask.shape[1])

    def going_on(self, goes_on: Tensor) -> "Memory":
        """Returns a memory that the rows have forgotten for which `goes_on`, `(batch,)`, is 0."""
        return self._replace(keep_mask=ops.logical_and(self.keep_mask, goes_on[:, None] != 0))

    def mask(self, keep_mask: Tensor) -> Tensor:
        """Returns what a segment may attend to: what is remembered, and its own past.

        Args:
            keep_mask: Boolean `(batch, length)`, True at the segment's real tokens.

        Returns:
            Boolean `(batch, 1, length, M + length)`.
        """
        own = attention_mask(keep_mask, causal=True)
        before = ops.broadcast_to(
            attention_mask(self.keep_mask), (*ops.shape(own)[:3], self.length)
        )
        return ops.concatenate([before, own], axis=-1)

    def after(self, states: Sequence[Tensor], keep_mask: Tensor) -> "Memory":
        """Returns the memory after a segment, which forgets the oldest tokens.

        Args:
            states: What each block read of it, `(batch, length, model_dim)`.
            keep_mask: As for `mask`.
        """
        newest = [
            ops.stop_gradient(_newest(before, own, self.length))
            for before, own in zip(self.states, states, strict=True)
        ]
        return Memory(_newest(self.keep_mask, keep_mask, self.length), newest)


def _newest(before: Tensor, own: Tensor, length: int) -> Tensor:
    return ops.concatenate([before, own], axis=1)[:, -length:]
