"""Computes activations twice instead of keeping them: a layer whose inner values are discarded
after the forward pass and computed again for the gradients (Chen et al. 2016).
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

    `keras.RematScope` would draw other dropout in the second pass than in the first: the seeds are
    the layer's state. So the layer is called as a function of that state, which both passes share.

    Args:
        layer: Built; its first arguments are `inputs` and `masks`.
        inputs: Floating, what gradients flow back to.
        masks: Constants of any dtype.
        training: As the layer takes it.

    Returns:
        What `layer(*inputs, *masks, training=training)` returns.
    """
    state = layer.non_trainable_variables
    # Copies: a variable that is written below must not be read again by the second pass.
    before = [variable.value * 1 for variable in state]

    def call(weights: list[Tensor], *inputs: Tensor) -> tuple[Tensor, list[Tensor]]:
        return layer.stateless_call(weights, before, *inputs, *masks, training=training)

    weights = [variable.value for variable in layer.trainable_variables]
    outputs, after = keras.remat(call)(weights, *inputs)
    for variable, value in zip(state, after, strict=True):
        variable.assign(value)
    return outputs
