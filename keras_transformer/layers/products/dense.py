"""The linear layer of all others: Keras's `Dense`, multiplying by `product`."""

from typing import Any

import keras
from keras import ops

from keras_transformer.layers.products.product import product
from keras_transformer.layers.variants.activations import in_training
from keras_transformer.tensors import Tensor


@keras.saving.register_keras_serializable("keras_transformer")
class Dense(keras.layers.Dense):
    """Multiplies features by a matrix and adds a bias: xW + b, with an activation if there is one.

    Arguments, weights, quantization and LoRA are those of `keras.layers.Dense`, and so is the name
    of the class: a `.keras` file finds the weights of a list's layers by it.

    Input and output:
        `(..., features)` and `(..., units)`.
    """

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        """Applies the layer to the last axis."""
        outputs = product(inputs, self.kernel)
        if self.bias is not None:
            outputs = ops.add(outputs, self.bias)
        if self.activation is None:
            return outputs
        return (in_training(self.activation) if training else self.activation)(outputs)

    def quantize(self, mode: str, type_check: bool = True, config: Any = None) -> None:
        """Quantizes the layer as Keras quantizes `Dense`, whose subclasses it refuses by itself."""
        super().quantize(mode, type_check=False, config=config)
