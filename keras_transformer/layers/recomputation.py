"""Recomputation: calls a layer so that its inner activations are discarded after the forward pass
and computed again for the gradients (Chen et al. 2016).
"""

from collections.abc import Mapping

import keras

from keras_transformer.tensors import Tensor


def recomputed(
    layer: keras.layers.Layer,
    inputs: Mapping[str, Tensor | None],
    masks: Mapping[str, Tensor | None],
    training: bool | None,
) -> Tensor:
    """Calls a layer so that only its inputs are kept for the gradients.

    With `keras.RematScope` the second pass would draw other dropout than the first, because the
    seeds are state of the layer. So the layer is called as a function of that state, which both
    passes share.

    Args:
        layer: A built layer.
        inputs: Floating tensors by the layer's arguments, to which gradients flow back.
        masks: Constants of any dtype by the layer's arguments.
        training: Passed to the layer.

    Returns:
        What `layer(**inputs, **masks, training=training)` returns.
    """
    state = layer.non_trainable_variables
    # Copies, because the second pass must not read variables that are written below.
    before = [variable.value * 1 for variable in state]

    given = {name: tensor for name, tensor in inputs.items() if tensor is not None}

    def call(weights: list[Tensor], *tensors: Tensor) -> tuple[Tensor, list[Tensor]]:
        arguments = {**dict(zip(given, tensors, strict=True)), **masks}
        found: tuple[Tensor, list[Tensor]] = layer.stateless_call(
            weights, before, **arguments, training=training
        )
        return found

    weights = [variable.value for variable in layer.trainable_variables]
    outputs, after = keras.remat(call)(weights, *given.values())
    for variable, value in zip(state, after, strict=True):
        variable.assign(value)
    return outputs
