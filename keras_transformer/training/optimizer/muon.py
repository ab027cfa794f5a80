"""Muon (Jordan et al. 2024): the matrices of a Transformer's blocks are changed by their momentum
with all singular values near 1, everything else by Adam.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from keras_transformer.tensors import Tensor
from keras_transformer.training.optimizer.adam import FusedAdam, Step

Variable = Any

# A fifth of the square root of the longer side: the size of Adam's updates, so that both learn at
# the same rate (Liu et al. 2025, section 2.2).
_RMS = 0.2
# Jordan's quintic polynomial, and how often it is applied: singular values of 0.005 to 1 then lie
# between 0.68 and 1.16.
_QUINTIC = (3.4445, -4.7750, 2.0315)
_ITERATIONS = 5


class FusedMuon(FusedAdam):
    """`keras.optimizers.Muon` without decay of weights, on TensorFlow.

    Keras treats each matrix alone, in some seventy operators. Here matrices of one shape are
    treated together.

    Args:
        *arguments: Arguments of `FusedAdam`.
        momentum: Decay of the sum of gradients.
        **options: Keyword arguments of `FusedAdam`.
    """

    def __init__(self, *arguments: Any, momentum: float = 0.95, **options: Any) -> None:
        super().__init__(*arguments, **{"name": "muon", **options})
        self.momentum = momentum

    def take(self, steps: Sequence[Step]) -> None:
        """Changes momenta, moments and variables."""
        others, by_shape = list[Step](), defaultdict[tuple[int, ...], list[Step]](list)
        for step in steps:
            is_matrix = is_matrix_of_a_block(step.variable)
            (by_shape[tuple(step.variable.shape)] if is_matrix else others).append(step)
        super().take(others)
        for alike in by_shape.values():
            self._change(alike)

    def _change(self, alike: Sequence[Step]) -> None:
        """Changes matrices of one shape."""
        directions = orthogonal(tf.stack([self._direction(step) for step in alike]))
        size = _RMS * max(alike[0].variable.shape) ** 0.5
        for step, direction in zip(alike, tf.unstack(directions), strict=True):
            change = step.learning_rate * size * direction
            tf.raw_ops.AssignSubVariableOp(resource=step.variable.value.handle, value=change)

    def _direction(self, step: Step) -> Tensor:
        """Adds a gradient to its matrix's momentum; returns Nesterov's step."""
        summed, _ = self.moments.of(step.variable)
        newest = self.momentum * tf.convert_to_tensor(summed.value) + step.gradient
        tf.raw_ops.AssignVariableOp(resource=summed.value.handle, value=newest)
        return step.gradient + self.momentum * newest

    def _moments_for(self, variable: Variable) -> tuple[Variable, Variable | None]:
        if is_matrix_of_a_block(variable):
            return self.add_variable_from_reference(variable, "momentum"), None
        return super()._moments_for(variable)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {**super().get_config(), "momentum": self.momentum}


def is_matrix_of_a_block(variable: Variable) -> bool:
    """Tells whether a variable maps the states of a block, as embeddings and tables do not."""
    return "/block_" in variable.path and variable.path.endswith("/kernel") and variable.ndim == 2


def orthogonal(matrices: Tensor) -> Tensor:
    """Moves the singular values of matrices near 1 by Newton's and Schulz's iteration.

    Args:
        matrices: float32 `(count, rows, columns)`; one that is 0 stays so.
    """
    is_tall = matrices.shape[1] > matrices.shape[2]
    found = tf.linalg.matrix_transpose(matrices) if is_tall else matrices
    found = found / (tf.norm(found, axis=(1, 2), keepdims=True) + 1e-7)
    once, thrice, five_times = _QUINTIC
    for _ in range(_ITERATIONS):
        square = tf.matmul(found, found, transpose_b=True)
        factor = thrice * square + five_times * tf.matmul(square, square)
        found = once * found + tf.matmul(factor, found)
    return tf.linalg.matrix_transpose(found) if is_tall else found
