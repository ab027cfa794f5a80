"""Recomputation: calls a layer so that its inner activations are discarded after the forward pass
and computed again for the gradients (Chen et al. 2016).
"""

from collections.abc import Sequence
from typing import Any

import keras

Tensor = Any


def recomputed(
    layer: keras.layers.Layer,
    inputs: Sequence[Tensor],
    masks: Sequence[Tensor],
    training: bool | None,
) -> Tensor:
    """Calls a layer so that only its inputs are kept for the gradients.

    With `keras.RematScope` the second pass would draw other dropout than the first, because the
    seeds are state of the layer. So the layer is called as a function of that state, which both
    passes share.

    Args:
        layer: A built layer whose first arguments are `inputs` and `masks`.
        inputs: Floating tensors, to which gradients flow back.
        masks: Constants of any dtype.
        training: Passed to the layer.

    Returns:
        What `layer(*inputs, *masks, training=training)` returns.
    """
    state = layer.non_trainable_variables
    # Copies, because the second pass must not read variables that are written below.
    before = [variable.value * 1 for variable in state]

    def call(weights: list[Tensor], *inputs: Tensor) -> tuple[Tensor, list[Tensor]]:
        return layer.stateless_call(weights, before, *inputs, *masks, training=training)

    weights = [variable.value for variable in layer.trainable_variables]
    outputs, after = keras.remat(call)(weights, *inputs)
    for variable, value in zip(state, after, strict=True):
        variable.assign(value)
    return outputs
