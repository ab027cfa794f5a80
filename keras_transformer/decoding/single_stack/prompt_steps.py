"""A live decoder as the step function of a search, with the keys and values of earlier tokens in a
cache.
"""

from typing import Any, Protocol

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.decoding.cached_steps import grow_caches
from keras_transformer.layers.attention import KeysValues
from keras_transformer.tensors import Tensor


class ContinuingModel(Protocol):
    """The methods of a `DecoderOnly` that generation uses; they are documented there."""

    def empty_caches(self, rows: Tensor, cache_length: Tensor) -> list[KeysValues]:
        """Returns empty caches."""
        ...

    def decode_step(
        self, token_ids: Tensor, step: Tensor, caches: list[KeysValues]
    ) -> tuple[Tensor, list[KeysValues]]:
        """Returns logits and caches."""
        ...

    def read_prompt(
        self, token_ids: Tensor, step: Tensor, caches: list[KeysValues]
    ) -> list[KeysValues]:
        """Returns caches."""
        ...


class PromptSteps:
    """A model's decode step as a `Stepper`: a prompt is a prefix that the search forces.

    Args:
        model: The model, or its parts as functions of a graph.
        special_ids: The model's.
    """

    def __init__(self, model: ContinuingModel, special_ids: SpecialIds) -> None:
        self.model = model
        self.special_ids = special_ids

    def start(self, rows: Tensor, length: int) -> Any:
        """Returns empty caches."""
        return self.model.empty_caches(rows, length)

    def grow(self, state: Any, length: int) -> Any:
        """Returns the caches with room for `length` positions."""
        return grow_caches(state, length)

    def step(self, ids: Tensor, step: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Runs the decoder on the newest tokens."""
        return self.model.decode_step(ids, step, state)

    def read(self, ids: Tensor, labels: Tensor, step: Tensor, state: Any) -> tuple[None, Any]:
        """Runs the decoder on several tokens of each prompt, which cost nothing."""
        return None, self.model.read_prompt(ids, step, state)
