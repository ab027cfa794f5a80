"""What `fit` trains: a Transformer with its loss and its metrics in one model, so that the logits
of a whole batch are never made.
"""

from typing import Any

import keras
from keras import ops

from keras_transformer.models import Transformer
from keras_transformer.models.traced_once import TracedOnce
from keras_transformer.training.loss.linear_cross_entropy import linear_cross_entropy
from keras_transformer.training.loss.linear_r_drop import linear_r_drop
from keras_transformer.training.loss.metrics import BATCH_LOSS, ExpMean, LastMean

Tensor = Any


class TrainingModel(TracedOnce, keras.Model):
    """A Transformer to be fitted on `({"source_ids", "target_ids"}, labels, sample_weight)`.

    Loss, token accuracy and perplexity are those of `SmoothedCrossEntropy`, `TokenAccuracy` and
    `Perplexity` on the Transformer's logits; `compile` needs an optimizer and nothing else. The
    newest batch's loss is in the logs beside the mean of the round.

    Args:
        transformer: The model whose weights are trained.
        label_smoothing: Share of the probability spread evenly over the vocabulary.
        r_drop: Strength α of R-Drop, which sends every batch through the Transformer twice; 0 for
            none.
    """

    def __init__(
        self, transformer: Transformer, label_smoothing: float = 0.1, r_drop: float = 0.0
    ) -> None:
        if not 0 <= label_smoothing < 1:
            raise ValueError(f"label_smoothing must lie in [0, 1), got {label_smoothing}.")
        if not r_drop >= 0:
            raise ValueError(f"r_drop must be at least 0, got {r_drop}.")
        super().__init__(name="training", dtype=transformer.dtype_policy)
        self.transformer = transformer
        self.label_smoothing = label_smoothing
        self.r_drop = r_drop
        self.to_states = transformer.decoder_states
        self.token_accuracy = keras.metrics.Mean("token_accuracy")
        self.perplexity = ExpMean("perplexity")
        self.batch_loss = LastMean(BATCH_LOSS)
        self.built = True

    def call(self, inputs: dict[str, Tensor], training: bool | None = None) -> Tensor:
        """Returns the decoder's states `(batch, target_length, model_dim)`.

        Training with R-Drop has twice as many rows: those of the first pass, then the second's.
        """
        if training and self.r_drop:
            inputs = {name: ops.concatenate([ids, ids]) for name, ids in inputs.items()}
        return self.to_states(inputs, training=training)

    def compute_loss(
        self,
        x: Any = None,
        y: Tensor = None,
        y_pred: Tensor = None,
        sample_weight: Tensor = None,
        training: bool = True,
    ) -> Tensor:
        """Returns the mean loss of the batch's tokens and updates the metrics.

        Args:
            x: Not used.
            y: Labels int32 `(batch, target_length)`.
            y_pred: The decoder's states.
            sample_weight: float32 `(batch, target_length)`, 0 on padding.
            training: Whether the states are those of training.
        """
        weights = ops.reshape(sample_weight, (-1,))
        arguments = (
            ops.reshape(y_pred, (-1, y_pred.shape[-1])),
            self.transformer.output_matrix,
            ops.reshape(y, (-1,)),
            weights,
            self.label_smoothing,
        )
        if training and self.r_drop:
            sums = linear_r_drop(*arguments, self.r_drop)
        else:
            sums = linear_cross_entropy(*arguments)
        tokens = ops.sum(weights)
        means = sums / ops.maximum(tokens, 1.0)
        self.perplexity.update_state(means[1], sample_weight=tokens)
        self.token_accuracy.update_state(means[2], sample_weight=tokens)
        self.batch_loss.update_state(means[0], sample_weight=tokens)
        return means[0]

    def compute_metrics(
        self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None
    ) -> dict[str, Any]:
        """Returns the metrics that `compute_loss` has updated."""
        return self.get_metrics_result()
