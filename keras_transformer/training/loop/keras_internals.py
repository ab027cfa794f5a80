"""Private names of Keras that training reads, each here alone; docs/internals.md says why."""

from typing import Any

Variable = Any


def loss_tracker(model: Any) -> Any:
    """Returns the metric that a compiled model keeps its mean loss in."""
    return model._loss_tracker


def moments_of(adam: Any, variable: Variable) -> tuple[Variable, Variable]:
    """Returns Adam's first and second moment of a variable."""
    place = adam._get_variable_index(variable)
    return adam._momentums[place], adam._velocities[place]


def update_count(optimizer: Any) -> Variable:
    """Returns the variable that counts an optimizer's updates."""
    return optimizer._iterations
