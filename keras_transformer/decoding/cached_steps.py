"""A live model as the step function of a search: encoded sources and the newest tokens come in,
logits leave; keys and values of earlier tokens are kept.
"""

from typing import Any

from keras import ops

from keras_transformer.models import Transformer
from keras_transformer.special_ids import PAD_ID

Tensor = Any


class CachedSteps:
    """A model's decode step as the search wants it, for one batch of encoded sources.

    Args:
        model: The model.
        source_ids: int32 `(batch, source_length)`.
    """

    def __init__(self, model: Transformer, source_ids: Tensor) -> None:
        self.model = model
        self.keep_mask = ops.not_equal(source_ids, PAD_ID)
        self.cross = model.encode(source_ids)

    def start(self, rows: Tensor, length: int) -> Any:
        """Returns empty caches."""
        return self.model.empty_caches(rows, length)

    def grow(self, state: Any, length: int) -> Any:
        """Returns the caches with room for `length` positions."""

        def pad(cache: Tensor) -> Tensor:
            more = length - cache.shape[2]
            return ops.pad(cache, [[0, 0], [0, 0], [0, more], [0, 0]])

        return [(pad(keys), pad(values)) for keys, values in state]

    def step(self, ids: Tensor, step: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Runs the decoder on the newest tokens."""
        return self.model.decode_step(ids, step, self.keep_mask, self.cross, state)
