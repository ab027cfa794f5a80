"""The model that `fit` trains for rerankers, which score pairs of texts."""

from typing import Any

from keras import ops

from keras_transformer.models.families import AnyModel
from keras_transformer.tensors import Tensor
from keras_transformer.training.loop.training_model import TrainingModel
from keras_transformer.training.loss.cross_entropy import count_tokens


class ScoreTrainingModel(TrainingModel):
    """An encoder with the head "regression" and `value_activation="sigmoid"`.

    The loss is the binary cross-entropy of each pair's score, `accuracy` the share of pairs whose
    score is on the right side of 0.5.

    Args:
        transformer: The encoder whose weights are trained.
    """

    def __init__(self, transformer: AnyModel) -> None:
        super().__init__(transformer, label_smoothing=0.0)

    def states_of(self, transformer: AnyModel) -> Any:
        """Returns the encoder itself, which returns scores."""
        return transformer

    def mean_and_weight(
        self, x: Any, y: Tensor, y_pred: Tensor, sample_weight: Tensor, training: bool
    ) -> tuple[Tensor, Tensor]:
        """Returns the mean loss of the batch's pairs and their number, and updates the metrics.

        Scores `y`, those of the model, `y_pred`, and `sample_weight` are float32 `(batch, 1)`.
        """
        wanted, given = ops.cast(y, "float32"), ops.cast(y_pred, "float32")
        losses = ops.binary_crossentropy(wanted, given)
        same = ops.cast((given >= 0.5) == (wanted >= 0.5), "float32")
        pairs = count_tokens(sample_weight)
        self.accuracy.add_mean(ops.sum(same * sample_weight) / pairs, pairs)
        return ops.sum(losses * sample_weight) / pairs, pairs
