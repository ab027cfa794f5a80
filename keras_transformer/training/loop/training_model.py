"""The model that `fit` trains: a Transformer with its loss and its metrics in one, so that the
logits of a whole batch are never materialized.
"""

from typing import Any

import keras
import numpy as np
import numpy.typing as npt
from keras import ops

from keras_transformer.models.families import AnyModel
from keras_transformer.models.traced_once import TracedOnce
from keras_transformer.runs.figure_names import names_for
from keras_transformer.tensors import Tensor
from keras_transformer.training.loss.cross_entropy import count_tokens
from keras_transformer.training.loss.label_smoothing import SmoothedCrossEntropy
from keras_transformer.training.loss.linear_r_drop import linear_r_drop
from keras_transformer.training.loss.metrics import BATCH_LOSS, LastMean, Perplexity, TokenAccuracy
from keras_transformer.training.loss.tagging import Tagging


class TrainingModel(TracedOnce, keras.Model):
    """A Transformer to be fitted on `({"source_ids", "target_ids"}, labels, sample_weight)`.

    Loss, accuracy and, of models of tokens, perplexity are those of `SmoothedCrossEntropy`,
    `TokenAccuracy` and `Perplexity` on the Transformer's logits, computed together with the final
    layer; `compile` needs only an optimizer. The logs hold the newest batch's loss beside the mean
    over the round.

    Args:
        transformer: The model whose weights are trained.
        label_smoothing: Share of the probability spread evenly over the vocabulary.
        r_drop: Strength α of R-Drop, which sends every batch through the Transformer twice; 0 for
            none.

    Attributes:
        class_weights: float32 `(labels,)`, the weight in the loss of a prediction by its label;
            None for one weight for all. Accuracies never have such weights.
    """

    def __init__(
        self, transformer: AnyModel, label_smoothing: float = 0.1, r_drop: float = 0.0
    ) -> None:
        token_loss = SmoothedCrossEntropy(label_smoothing)
        if not r_drop >= 0:
            raise ValueError(f"r_drop must be at least 0, got {r_drop}.")
        soft_cap = getattr(transformer.config, "final_logit_soft_cap", None)
        if r_drop and soft_cap is not None:
            raise ValueError(
                f"a model with final_logit_soft_cap ({soft_cap}) is trained without R-Drop: r_drop "
                f"must be 0, got {r_drop}."
            )
        cutoffs = getattr(transformer.config, "cutoffs", ())
        for name, value in {"label_smoothing": label_smoothing, "r_drop": r_drop}.items():
            if cutoffs and value:
                raise ValueError(
                    f"a model with cutoffs {cutoffs} has no logits of all ids in training: {name} "
                    f"must be 0, got {value}."
                )
        super().__init__(name="training", dtype=transformer.dtype_policy)
        self.transformer = transformer
        self.token_loss = token_loss
        self.soft_cap = soft_cap
        self.r_drop = r_drop
        self.to_states = self.states_of(transformer)
        names = names_for(transformer)
        self.accuracy = TokenAccuracy(names.accuracy)
        self.perplexity = Perplexity() if names.has_perplexity else None
        self.class_weights: npt.NDArray[np.float32] | None = None
        self.batch_loss = LastMean(BATCH_LOSS)
        is_tagger = getattr(transformer.config, "head", None) == "tagging"
        self.tagging = Tagging(transformer) if is_tagger else None
        self.span_f1 = self.tagging.span_f1 if self.tagging else None
        # The second head of BERT's pretraining: its state and label are the first of a row.
        self.second_head = getattr(transformer, "next_sentence", None)
        if self.second_head is not None:
            self.next_sentence_accuracy = TokenAccuracy("next_sentence_accuracy")
        self.built = True

    # Callbacks such as `ModelCheckpoint` save what users want, the model that is trained; this one
    # could not be built from a file.
    def save(self, filepath: Any, *arguments: Any, **options: Any) -> None:
        """Writes the Transformer, as its `save` does."""
        self.transformer.save(filepath, *arguments, **options)

    def save_weights(self, filepath: Any, *arguments: Any, **options: Any) -> None:
        """Writes the Transformer's weights, as its `save_weights` does."""
        self.transformer.save_weights(filepath, *arguments, **options)

    def load_weights(self, filepath: Any, *arguments: Any, **options: Any) -> None:
        """Reads what `save_weights` wrote."""
        self.transformer.load_weights(filepath, *arguments, **options)

    def states_of(self, transformer: AnyModel) -> Any:
        """Returns the part of a model whose outputs the loss reads."""
        return transformer.training_states()

    @property
    def mean_loss(self) -> keras.metrics.Mean:
        """The metric that Keras reports as `loss`, for custom train steps to update."""
        [tracker] = [metric for metric in self.metrics if metric.name == "loss"]
        return tracker

    def call(self, inputs: dict[str, Tensor], training: bool | None = None) -> Tensor:
        """Returns the decoder's states `(batch, target_length, model_dim)`.

        In training with R-Drop there are twice as many rows: the first pass, then the second.
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
        """Returns the `mean_and_weight` of the batch's loss, of which it keeps a metric."""
        loss, weight = self.mean_and_weight(x, y, y_pred, sample_weight, training)
        self.batch_loss.update_state(loss, sample_weight=weight)
        return loss

    def mean_and_weight(
        self, x: Any, y: Tensor, y_pred: Tensor, sample_weight: Tensor, training: bool
    ) -> tuple[Tensor, Tensor]:
        """Returns the mean loss of the batch's tokens and their weight, and updates the metrics.

        With two heads it is the sum of both means: the weights of both have the same sum in the
        whole batch (`data.objectives.next_sentence`), so that it can be computed in parts.

        Args:
            x: The batch's inputs, for losses that look at them; this one does not.
            y: Labels int32 `(batch, target_length)`.
            y_pred: The decoder's states.
            sample_weight: float32 `(batch, target_length)`, 0 on padding.
            training: Whether the states come from a training pass.
        """
        tokens = given = y_pred, y, sample_weight
        if self.second_head is not None:
            tokens = tuple(values[:, 1:] for values in given)
        matrix = self.transformer.output_matrix
        found = self.tagging.sums(y_pred, matrix, y, sample_weight) if self.tagging else None
        sums, weight = found or self._sums(matrix, *tokens, training=training, inputs=x)
        _, nats, hits = ops.unstack(sums / count_tokens(tokens[2]))
        if self.perplexity is not None:
            self.perplexity.add_mean(nats, weight)
        self.accuracy.add_mean(hits, weight)
        total = sums[0]
        if self.class_weights is not None:
            weighted = sample_weight * ops.take(self.class_weights, y)
            total = self._sums(matrix, y_pred, y, weighted, training=training)[0][0]
        if self.second_head is not None:
            matrix = ops.cast(self.second_head.matrix, self.compute_dtype)
            first = [values[:, :1] for values in given]
            sums, weight = self._sums(matrix, *first, training=training)
            self.next_sentence_accuracy.add_mean(sums[2] / ops.maximum(weight, 1.0), weight)
            total = 2 * (total + sums[0])
        return total / count_tokens(sample_weight), ops.sum(sample_weight)

    def _sums(
        self,
        matrix: Tensor,
        states: Tensor,
        labels: Tensor,
        weights: Tensor,
        *,
        training: bool,
        inputs: dict[str, Tensor] | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Returns the sums of a head's loss, nats and hits, and of its weights."""
        weights = ops.reshape(weights, (-1,))
        states = ops.reshape(states, (-1, states.shape[-1]))
        arguments = states, matrix, ops.reshape(labels, (-1,)), weights
        sums = self.loss_sums(*arguments, training=training, inputs=inputs)
        return sums, ops.sum(weights)

    def loss_sums(
        self,
        states: Tensor,
        matrix: Tensor,
        labels: Tensor,
        weights: Tensor,
        *,
        training: bool,
        inputs: dict[str, Tensor] | None,
    ) -> Tensor:
        """Returns float32 `(3,)`: the sums of `linear_cross_entropy`, of which this is the loss.

        Args:
            states: As there, as are the next three.
            matrix: The head's.
            labels: Of the batch's tokens, row after row.
            weights: Of the same.
            training: Whether the states come from a training pass.
            inputs: What the states were computed from, None for the second head.
        """
        arguments = states, matrix, labels, weights
        if training and self.r_drop:
            return linear_r_drop(*arguments, self.token_loss.label_smoothing, self.r_drop)
        return self.token_loss.with_head(*arguments, self.soft_cap)

    def compute_metrics(
        self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None
    ) -> dict[str, Any]:
        """Returns the metrics that `compute_loss` has updated."""
        return self.get_metrics_result()
