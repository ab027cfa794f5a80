"""A live model as the step function of a search, with the keys and values of earlier tokens in a
cache.
"""

from typing import Any, Protocol

from keras import ops

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.layers.attention import KeysValues
from keras_transformer.layers.decoder.block import Cache
from keras_transformer.layers.masks import padding_mask
from keras_transformer.tensors import Tensor


class DecodingModel(Protocol):
    """The methods of a `Transformer` that decoding uses; they are documented there."""

    def source_keys_values(self, source_ids: Tensor) -> list[KeysValues]:
        """Returns each block's keys and values of the source."""
        ...

    def empty_caches(self, rows: Tensor, cache_length: Tensor) -> list[Cache]:
        """Returns empty caches."""
        ...

    def decode_step(
        self,
        target_ids: Tensor,
        step: Tensor,
        source_keep_mask: Tensor,
        cross: list[KeysValues],
        caches: list[Cache],
    ) -> tuple[Tensor, list[Cache]]:
        """Returns logits and caches."""
        ...

    def read_prefix(
        self,
        target_ids: Tensor,
        labels: Tensor,
        step: Tensor,
        source_keep_mask: Tensor,
        cross: list[KeysValues],
        caches: list[Cache],
    ) -> tuple[Tensor, list[Cache]]:
        """Returns log-probabilities and caches."""
        ...


def grow_caches(caches: list[Cache], length: int) -> list[Cache]:
    """Returns caches `(rows, heads, cache_length, width)` with room for `length` positions.

    The state of a recurrence `(rows, width)` stays as it is.
    """

    def pad(part: Tensor) -> Tensor:
        if len(part.shape) == 2:
            return part
        more = length - part.shape[2]
        return ops.pad(part, [[0, 0], [0, 0], [0, more], [0, 0]])

    return [tuple(map(pad, cache)) for cache in caches]


class CachedSteps:
    """A model's decode step as a `Stepper`, for one batch of encoded sources.

    Args:
        model: The model, or its parts as functions of a graph.
        source_ids: int32 `(batch, source_length)`.
        special_ids: The model's.
        cross: The result of `model.source_keys_values` for the sources; computed here if None.
    """

    def __init__(
        self,
        model: DecodingModel,
        source_ids: Tensor,
        special_ids: SpecialIds,
        cross: list[KeysValues] | None = None,
    ) -> None:
        self.model = model
        self.special_ids = special_ids
        self.keep_mask = padding_mask(source_ids, special_ids.pad)
        self.cross = model.source_keys_values(source_ids) if cross is None else cross

    def start(self, rows: Tensor, length: int) -> Any:
        """Returns empty caches."""
        return self.model.empty_caches(rows, length)

    def grow(self, state: Any, length: int) -> Any:
        """Returns the caches with room for `length` positions."""
        return grow_caches(state, length)

    def step(self, ids: Tensor, step: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Runs the decoder on the newest tokens."""
        return self.model.decode_step(ids, step, self.keep_mask, self.cross, state)

    def read(self, ids: Tensor, labels: Tensor, step: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Runs the decoder on several tokens of each sentence."""
        return self.model.read_prefix(ids, labels, step, self.keep_mask, self.cross, state)
