"""The model that `fit` trains for sentence embeddings: an encoder with the loss of in-batch
negatives.
"""

from typing import Any

from keras import ops

from keras_transformer.models.families import AnyModel
from keras_transformer.tensors import Tensor
from keras_transformer.training.loop.training_model import TrainingModel
from keras_transformer.training.loss.cross_entropy import count_tokens, cross_entropy, is_best
from keras_transformer.training.loss.in_batch_negatives import in_batch_logits


class EmbeddingTrainingModel(TrainingModel):
    """An encoder with the head "embedding", to be fitted on pairs of texts `(batch, 2, length)`.

    The loss is the cross-entropy of choosing the second text of each pair among all of the batch;
    `retrieval_accuracy` is the share of pairs for which that has the highest cosine.

    Args:
        transformer: The encoder whose weights are trained.
    """

    def __init__(self, transformer: AnyModel) -> None:
        super().__init__(transformer, label_smoothing=0.0)

    def states_of(self, transformer: AnyModel) -> Any:
        """Returns the encoder itself, which returns vectors."""
        return transformer

    def call(self, inputs: dict[str, Tensor], training: bool | None = None) -> Tensor:
        """Returns vectors `(batch, 2, model_dim)`."""
        length = ops.shape(inputs["token_ids"])[-1]
        rows = {name: ops.reshape(ids, (-1, length)) for name, ids in inputs.items()}
        vectors = self.to_states(rows, training=training)
        return ops.reshape(vectors, (-1, 2, vectors.shape[-1]))

    def compute_loss(
        self,
        x: Any = None,
        y: Tensor = None,
        y_pred: Tensor = None,
        sample_weight: Tensor = None,
        training: bool = True,
    ) -> Tensor:
        """Returns the mean loss of the batch's pairs and updates the metrics.

        Args:
            x: The inputs.
            y: Not used: each pair's label is its own place in the batch.
            y_pred: The vectors.
            sample_weight: float32 `(batch, 1)`.
            training: Not used.
        """
        logits = in_batch_logits(y_pred, x["token_ids"])
        own, weights = ops.diagonal(logits), ops.squeeze(sample_weight, -1)
        losses = cross_entropy(ops.logsumexp(logits, axis=-1), own)
        hits = ops.cast(is_best(own, ops.max(logits, axis=-1)), "float32")
        pairs = count_tokens(weights)
        loss = ops.sum(losses * weights) / pairs
        self.accuracy.add_mean(ops.sum(hits * weights) / pairs, pairs)
        self.batch_loss.update_state(loss, sample_weight=pairs)
        return loss
