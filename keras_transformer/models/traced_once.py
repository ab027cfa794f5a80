"""Creates the optimizer's variables before a model's first update."""

from typing import Any


class TracedOnce:
    """Makes TensorFlow trace a model's update once; inherit from it before `keras.Model`.

    Keras lets the first update create the optimizer's variables, and TensorFlow traces a function
    that creates variables a second time.
    """

    optimizer: Any
    trainable_variables: list[Any]

    def make_train_function(self, force: bool = False) -> Any:
        """As Keras's, which `fit` and `train_on_batch` call before they train."""
        if self.optimizer is not None and not self.optimizer.built:
            self.optimizer.build(self.trainable_variables)
        return super().make_train_function(force)  # type: ignore[misc]
