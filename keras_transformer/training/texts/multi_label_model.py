"""The model that `fit` trains for classifiers that give a text any number of labels."""

from typing import Any

import keras
from keras import ops

from keras_transformer.models.families import AnyModel
from keras_transformer.tensors import Tensor
from keras_transformer.training.loop.training_model import TrainingModel
from keras_transformer.training.loss.cross_entropy import count_tokens


class MicroF1(keras.metrics.Metric):
    """F1 of all labels of all texts together: 2 · right / (given + wanted); 1 if there are none."""

    def __init__(self, name: str = "micro_f1") -> None:
        super().__init__(name=name)
        self._right, self._all = (
            self.add_weight(name=name, initializer="zeros") for name in ("right", "all")
        )

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor = None) -> None:
        """Takes 0 or 1 for each label that a text has and that it is given."""
        weights = 1.0 if sample_weight is None else sample_weight
        self._right.assign_add(ops.sum(y_true * y_pred * weights))
        self._all.assign_add(ops.sum((y_true + y_pred) * weights))

    def result(self) -> Tensor:
        """Returns the F1 since the last reset."""
        none = ops.equal(self._all, 0.0)
        return ops.where(none, 1.0, 2 * self._right / ops.where(none, 1.0, self._all))


class MultiLabelTrainingModel(TrainingModel):
    """An encoder with the head "classification" and `multi_label=True`.

    The loss is the binary cross-entropy of each label, from logits; `accuracy` is the share of
    texts with exactly their labels, `micro_f1` that of single labels. A label is given from a
    probability of 0.5 on.

    Args:
        transformer: The encoder whose weights are trained.
    """

    def __init__(self, transformer: AnyModel) -> None:
        super().__init__(transformer, label_smoothing=0.0)
        self.micro_f1 = MicroF1()

    def mean_and_weight(
        self, x: Any, y: Tensor, y_pred: Tensor, sample_weight: Tensor, training: bool
    ) -> tuple[Tensor, Tensor]:
        """Returns the mean loss of the batch's labels and their weight, and updates the metrics.

        `y` says whether each text has each label, int32 `(batch, labels)`; `y_pred` are the
        encoder's states `(batch, 1, width)`, and `sample_weight` is float32 `(batch, labels)`.
        """
        states = ops.reshape(y_pred, (-1, y_pred.shape[-1]))
        product = ops.matmul(states, ops.transpose(self.transformer.output_matrix))
        logits, wanted = ops.cast(product, "float32"), ops.cast(y, "float32")
        losses = ops.softplus(logits) - logits * wanted
        given, weights = ops.cast(logits >= 0, "float32"), sample_weight[:, 0]
        exact = ops.cast(ops.all(given == wanted, axis=-1), "float32")
        texts = count_tokens(weights)
        self.accuracy.add_mean(ops.sum(exact * weights) / texts, texts)
        self.micro_f1.update_state(wanted, given, sample_weight)
        loss = ops.sum(losses * sample_weight) / count_tokens(sample_weight)
        return loss, ops.sum(sample_weight)
