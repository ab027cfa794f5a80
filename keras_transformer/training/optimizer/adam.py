"""Adam (paper, section 5.3) that updates each variable with a single operator."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf
from keras import ops

from keras_transformer.tensors import Tensor

Variable = Any


@dataclass(frozen=True)
class Moments:
    """Adam's state of some variables, hidden from Keras, which takes any list of variables in an
    attribute of an optimizer for the optimizer's own variables.

    Attributes:
        variables: The variables to update.
        first: First moment of each.
        second: Second moment of each; None for those that have only one.
    """

    variables: Sequence[Variable]
    first: Sequence[Variable]
    second: Sequence[Variable | None]

    def of(self, variable: Variable) -> tuple[Variable, Any]:
        """Returns both moments of a variable."""
        places = {id(known): place for place, known in enumerate(self.variables)}
        place = places[id(variable)]
        return self.first[place], self.second[place]


@dataclass(frozen=True)
class Step:
    """The update of one variable.

    Attributes:
        variable: The variable.
        gradient: Its gradient, clipped.
        learning_rate: Its learning rate.
        decays: β₁ᵗ and β₂ᵗ.
    """

    variable: Variable
    gradient: Tensor
    learning_rate: Tensor
    decays: tuple[Tensor, Tensor]


class FusedAdam(keras.optimizers.Optimizer):
    """`keras.optimizers.Adam` for float32 variables, on TensorFlow.

    Keras uses a dozen operators, each of which passes over the variable's memory again, and traces
    them for every variable. Both compute θ ← θ - αₜ·m / (√v + ε) with
    αₜ = α·√(1 - β₂ᵗ) / (1 - β₁ᵗ), and their variables have the same names in the same order.

    Args:
        learning_rate: A constant or a schedule.
        beta_1: Decay of the first moment.
        beta_2: Decay of the second moment.
        epsilon: ε.
        global_clipnorm: Largest norm of all gradients together; None for no clipping.
        name: Name of the optimizer.

    Attributes:
        rates: Factors of the learning rate by the path of a variable; 1 for those it lacks.
        first_updates: After how many updates a variable begins to learn, by its path; 0 for those
            it lacks. Until then its gradient counts as 0, in the global norm, too; its own updates
            are counted from there, so that it learns as any variable does at first.
    """

    def __init__(
        self,
        learning_rate: float | keras.optimizers.schedules.LearningRateSchedule = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        global_clipnorm: float | None = None,
        name: str = "adam",
    ) -> None:
        super().__init__(learning_rate, global_clipnorm=global_clipnorm, name=name)
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.rates: dict[str, float] = {}
        self.first_updates: dict[str, int] = {}

    def build(self, variables: Sequence[Variable]) -> None:
        """Creates the moments of the variables to update."""
        if self.built:
            return
        super().build(variables)
        pairs = [self._moments_for(variable) for variable in variables]
        self.moments = Moments(tuple(variables), *zip(*pairs, strict=True))

    def apply(self, grads: Sequence[Tensor], trainable_variables: Any = None) -> None:
        """Applies an update.

        Args:
            grads: A gradient for each variable; a variable whose gradient is None is unchanged.
            trainable_variables: The variables to update, among those that the optimizer was built
                for; None for all.
        """
        if trainable_variables is None:
            variables = self.moments.variables
        else:
            variables = list(trainable_variables)
            self.build(variables)
        given = zip(variables, grads, strict=True)
        found = [(variable, gradient) for variable, gradient in given if gradient is not None]
        # Not `self.iterations`, which a subclass may return as a tensor.
        count = super().iterations
        firsts = [self.first_updates.get(variable.path, 0) for variable, _ in found]
        gradients = [
            _from(first, count, tf.convert_to_tensor(gradient))
            for first, (_, gradient) in zip(firsts, found, strict=True)
        ]
        if self.global_clipnorm:
            gradients = clip_together(gradients, self.global_clipnorm)
        decays = {first: self._decays(count, first) for first in set(firsts)}
        learning_rate = ops.cast(self.learning_rate, "float32")
        steps = []
        for (variable, _), gradient, first in zip(found, gradients, firsts, strict=True):
            rate = self.rates.get(variable.path)
            own = learning_rate if rate is None else learning_rate * rate
            steps.append(Step(variable, gradient, own, decays[first]))
        self.take(steps)
        for variable, _ in found:
            if variable.constraint is not None:
                variable.assign(variable.constraint(variable))
        count.assign_add(1)

    def take(self, steps: Sequence[Step]) -> None:
        """Changes moments and variables."""
        for step in steps:
            self._update(step)

    def _moments_for(self, variable: Variable) -> tuple[Variable, Variable | None]:
        """Creates what is kept between the updates of a variable."""
        first = self.add_variable_from_reference(variable, "momentum")
        return first, self.add_variable_from_reference(variable, "velocity")

    def _decays(self, count: Variable, first: int) -> tuple[Tensor, Tensor]:
        """Returns β₁ᵗ and β₂ᵗ for variables that begin to learn after `first` updates."""
        step = ops.cast(count + 1, "float32")
        if first:
            step = ops.maximum(step - first, 1.0)  # t = 0 would divide by 0
        return ops.power(self.beta_1, step), ops.power(self.beta_2, step)

    def _update(self, step: Step) -> None:
        first, second = self.moments.of(step.variable)
        tf.raw_ops.ResourceApplyAdam(
            var=step.variable.value.handle,
            m=first.value.handle,
            v=second.value.handle,
            beta1_power=step.decays[0],
            beta2_power=step.decays[1],
            lr=step.learning_rate,
            beta1=self.beta_1,
            beta2=self.beta_2,
            epsilon=self.epsilon,
            grad=step.gradient,
        )

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        config = super().get_config()
        own = ("learning_rate", "global_clipnorm", "name")
        return {
            **{name: config[name] for name in own},
            "beta_1": self.beta_1,
            "beta_2": self.beta_2,
            "epsilon": self.epsilon,
        }


def _from(first: int, count: Variable, gradient: Tensor) -> Tensor:
    """Returns a gradient as 0 until `first` updates are made; NaN stays, for `FiniteGuard`."""
    return gradient * ops.cast(count >= first, gradient.dtype) if first else gradient


def clip_together(gradients: Sequence[Tensor], largest_norm: float) -> list[Tensor]:
    """Scales gradients so that their joint norm is at most `largest_norm`; NaN if not finite."""
    squares = [ops.sum(ops.square(gradient)) for gradient in gradients]
    norm = ops.sqrt(ops.sum(ops.stack(squares)))
    # An infinite or NaN norm gives NaN, which `FiniteGuard` detects, instead of zeros.
    scale = largest_norm * ops.minimum(1.0 / norm, 1.0 / largest_norm) + (norm - norm)
    return [gradient * scale for gradient in gradients]
