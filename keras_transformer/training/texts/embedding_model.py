"""The model that `fit` trains for sentence embeddings: an encoder with the loss of in-batch
negatives (Henderson et al. 2017, section 4.3).
"""

from typing import Any

from keras import ops

from keras_transformer.models.families import AnyModel
from keras_transformer.tensors import Tensor
from keras_transformer.training.loop.training_model import TrainingModel
from keras_transformer.training.loss.cross_entropy import count_tokens, cross_entropy, is_best

# Of cosines; that of Sentence-BERT's library (Reimers and Gurevych 2019) for this loss.
SCALE = 20.0
# The logit of what is no candidate.
_NONE = -1e9


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

    def mean_and_weight(
        self, x: Any, y: Tensor, y_pred: Tensor, sample_weight: Tensor, training: bool
    ) -> tuple[Tensor, Tensor]:
        """Returns the mean loss of the batch's pairs and their number, and updates the metrics.

        Each pair's label is its own place in the batch, whatever `y` is; `y_pred` are the vectors,
        and `sample_weight` is float32 `(batch, 1)`.
        """
        logits = in_batch_logits(y_pred, x["token_ids"])
        own, weights = ops.diagonal(logits), ops.squeeze(sample_weight, -1)
        losses = cross_entropy(ops.logsumexp(logits, axis=-1), own)
        hits = ops.cast(is_best(own, ops.max(logits, axis=-1)), "float32")
        pairs = count_tokens(weights)
        self.accuracy.add_mean(ops.sum(hits * weights) / pairs, pairs)
        return ops.sum(losses * weights) / pairs, pairs


def in_batch_logits(vectors: Tensor, token_ids: Tensor) -> Tensor:
    """Returns cosines times 20, of which those on the diagonal should be the highest.

    A pair that shares a text with another one is no negative of it: its similarity counts as none.

    Args:
        vectors: `(pairs, 2, model_dim)`.
        token_ids: Integer `(pairs, 2, length)`, the texts.

    Returns:
        float32 `(pairs, pairs)`: row i has the first text of pair i.
    """
    vectors = ops.cast(vectors, "float32")
    vectors = vectors * ops.rsqrt(
        ops.maximum(ops.sum(ops.square(vectors), axis=-1, keepdims=True), 1e-12)
    )
    logits = SCALE * ops.matmul(vectors[:, 0], ops.transpose(vectors[:, 1]))
    is_same = ops.all(token_ids[:, None] == token_ids[None], axis=-1)  # [B, B, 2]
    places = ops.arange(ops.shape(vectors)[0])
    is_other = ops.any(is_same, axis=-1) & (places[:, None] != places[None])
    return ops.where(is_other, _NONE, logits)
