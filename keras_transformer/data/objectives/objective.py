"""The interface of objectives, between a reader's rows and the batches of `fit`."""

from typing import NamedTuple, Protocol

import tensorflow as tf

# Inputs by name, labels and their weights.
Batch = tuple[dict[str, tf.Tensor], tf.Tensor, tf.Tensor]


class Rows(NamedTuple):
    """The rows of a batch.

    Attributes:
        token_ids: int32 (B, L), padded on the right, special ids included.
        token_type_ids: int32 (B, L), 0 or 1.
        classes: int32 (B,), the number of each row's label; 0 if rows have none.
        token_classes: int32 (B, L), the number of each token's tag, -1 for none; None if no token
            has one.
        features: Of each model whose states are features float32 (B, L, layers, width), zeros where
            a token has none.
    """

    token_ids: tf.Tensor
    token_type_ids: tf.Tensor
    classes: tf.Tensor
    token_classes: tf.Tensor | None = None
    features: tuple[tf.Tensor, ...] = ()


class Objective(Protocol):
    """A pure function: the same rows and the same seed always give the same batch."""

    def __call__(self, rows: Rows, seed: tf.Tensor) -> Batch:
        """Returns the batch to learn from.

        Args:
            rows: Padded rows.
            seed: int64 (2,), decides all that is drawn.

        Returns:
            Inputs by name; labels, int32 or scores as float32, and weights float32 of one shape
            `(B, predictions)`, weights 0 where there is nothing to predict.
        """


def written_batch(rows: Rows, source: tf.RaggedTensor, target: tf.RaggedTensor, pad: int) -> Batch:
    """Returns the batch of an encoder that reads `source` and a decoder that writes `target`.

    Args:
        rows: The rows they are made of, which begin with the decoder's start.
        source: Ragged int32 (B, None), ending in eos.
        target: Ragged int32 (B, None), ending in eos.
        pad: The id that fills rows.
    """
    labels = target.to_tensor(default_value=pad)
    is_label = labels != pad
    before = tf.concat([rows.token_ids[:, :1], labels[:, :-1]], axis=1)
    inputs = {
        "source_ids": source.to_tensor(default_value=pad),
        "target_ids": tf.where(is_label, before, pad),
    }
    return inputs, labels, tf.cast(is_label, tf.float32)
