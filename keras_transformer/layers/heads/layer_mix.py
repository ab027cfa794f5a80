"""A learned mix of the states of all layers (Peters et al. 2018, ELMo, equation 1)."""

from typing import Any

import keras
from keras import ops

from keras_transformer.tensors import Tensor

_NEEDS_LIST = "LayerMix takes a list with the states of each layer, got {}."


@keras.saving.register_keras_serializable("keras_transformer")
class LayerMix(keras.layers.Layer):
    """γ Σ softmax(w)_j h_j: a scale, and a weight for each layer.

    The weights begin equal and γ as 1, so that the layer begins as the mean of all.

    Input:
        A list of states, each `(batch, length, model_dim)`, as `EncoderOnly.hidden_states` returns
        them.

    Output:
        `(batch, length, model_dim)`.

    Example:
        >>> states = [keras.ops.zeros((1, 2, 4)), keras.ops.ones((1, 2, 4))]
        >>> keras.ops.convert_to_numpy(LayerMix()(states))[0, 0].tolist()
        [0.5, 0.5, 0.5, 0.5]
    """

    def build(self, states_shape: Any) -> None:
        """Creates w, a number a layer, and γ."""
        if not all(isinstance(shape, list | tuple) for shape in states_shape):
            raise ValueError(_NEEDS_LIST.format(f"one tensor of the shape {states_shape}"))
        self.layer_weights = self.add_weight(
            name="layer_weights", shape=(len(states_shape),), initializer="zeros"
        )
        self.scale = self.add_weight(name="scale", shape=(), initializer="ones")

    def call(self, states: list[Tensor]) -> Tensor:
        """Mixes the states.

        Raises:
            ValueError: The states are no list, or others in number than the layer was built for.
        """
        if not isinstance(states, list | tuple):
            raise ValueError(_NEEDS_LIST.format(f"one tensor of the shape {states.shape}"))
        layers = self.layer_weights.shape[0]
        if len(states) != layers:
            raise ValueError(
                f"LayerMix was built for the states of {layers} layers, got those of "
                f"{len(states)}: give it as many, or make another one."
            )
        # Keras warns of a softmax over one layer.
        scores = ops.cast(self.layer_weights, "float32")
        shares = ops.exp(scores - ops.logsumexp(scores)) * self.scale
        shares = ops.cast(shares, self.compute_dtype)
        return sum(shares[place] * layer for place, layer in enumerate(states))

    def compute_output_shape(self, states_shape: Any) -> Any:
        """Returns the shape of one layer's states."""
        return states_shape[0]
