"""Adam (paper, section 5.3) with the whole update of a variable in one operator."""

from typing import Any

import keras
import tensorflow as tf
from keras import ops

from keras_transformer.training.loop.keras_internals import moments_of


class FusedAdam(keras.optimizers.Adam):
    """`keras.optimizers.Adam` for float32 variables, on TensorFlow; the arguments are the same.

    Keras takes a dozen operators, each of which goes through the variable's memory once more, and
    traces them for every variable. Both compute θ ← θ - αₜ·m / (√v + ε) with
    αₜ = α·√(1 - β₂ᵗ) / (1 - β₁ᵗ).
    """

    def apply(self, grads: Any, trainable_variables: Any = None) -> None:
        """Makes an update with a gradient for each variable."""
        step = ops.cast(self.iterations + 1, "float32")
        self._decays = ops.power(self.beta_1, step), ops.power(self.beta_2, step)
        super().apply(grads, trainable_variables)

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """Updates one variable and its moments."""
        momentum, velocity = moments_of(self, variable)
        beta_1_power, beta_2_power = self._decays
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=momentum.value.handle,
            v=velocity.value.handle,
            beta1_power=beta_1_power,
            beta2_power=beta_2_power,
            lr=ops.cast(learning_rate, "float32"),
            beta1=self.beta_1,
            beta2=self.beta_2,
            epsilon=self.epsilon,
            grad=tf.convert_to_tensor(gradient),
        )
