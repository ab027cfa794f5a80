"""How a model's first update starts: with the optimizer's variables made."""

from typing import Any


class TracedOnce:
    """Has TensorFlow trace a model's update once; to be inherited from before `keras.Model`.

    Keras lets the first update make the optimizer's variables, and a function that made variables
    is traced a second time.
    """

    optimizer: Any
    trainable_variables: list[Any]

    def make_train_function(self, force: bool = False) -> Any:
        """As Keras's, which `fit` and `train_on_batch` call before they train."""
        if self.optimizer is not None and not self.optimizer.built:
            self.optimizer.build(self.trainable_variables)
        return super().make_train_function(force)  # type: ignore[misc]
