"""Classification and tagging: what users labelled is predicted, of a whole text or of each word."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import tensorflow as tf

from keras_transformer.config.embedding import feature_input
from keras_transformer.data.objectives.objective import Batch, Rows

# Stands for no tag: of a token that is not the first of a word.
NO_TAG = -1
# Stands for an unknown label or tag, which other views of the model learn.
UNLABELLED = -2


@dataclass(frozen=True)
class Labels(ABC):
    """Passes rows on with their labels.

    Args:
        has_token_types: Whether the model has an input of token types.
    """

    has_token_types: bool = True

    def __call__(self, rows: Rows, seed: tf.Tensor) -> Batch:
        """Returns the inputs, the labels and their weights; draws nothing."""
        del seed
        inputs = {"token_ids": rows.token_ids}
        if self.has_token_types:
            inputs["token_type_ids"] = rows.token_type_ids
        for number, states in enumerate(rows.features):
            inputs[feature_input(number)] = states
        return inputs, *self.labels_of(rows)

    @abstractmethod
    def labels_of(self, rows: Rows) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the labels of rows, and a float32 weight for each."""


class Classes(Labels):
    """The number of each row's label, `(B, 1)`, with a weight of 1; -1 and 0 for an unknown one."""

    def labels_of(self, rows: Rows) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns them."""
        return _known(rows.classes[:, None])


@dataclass(frozen=True)
class LabelSets(Labels):
    """Any number of labels a row: 1 for each that it has and 0 for the others, `(B, labels)`.

    Args:
        sets: For each number that a row may have instead of a label, 1 for each label of that set
            and 0 for each other one.
    """

    sets: tuple[tuple[int, ...], ...] = ()

    def labels_of(self, rows: Rows) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns them."""
        labels = tf.gather(tf.constant(self.sets, tf.int32), rows.classes)
        return labels, tf.ones_like(labels, tf.float32)


@dataclass(frozen=True)
class Scores(Labels):
    """The score of each row, float32 `(B, 1)`, with a weight of 1.

    Args:
        scores: For each number that a row may have instead of a label, its score.
    """

    scores: tuple[float, ...] = ()

    def labels_of(self, rows: Rows) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns them."""
        scores = tf.gather(tf.constant(self.scores, tf.float32), rows.classes)[:, None]
        return scores, tf.ones_like(scores)


class Tags(Labels):
    """The number of each word's tag at its first token, `(B, L)`; all other tokens weigh 0, and so
    do unknown tags, which are -1.
    """

    def labels_of(self, rows: Rows) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns them, or raises `ValueError` for rows without tags."""
        if rows.token_classes is None:
            raise ValueError("rows for tagging need token_classes, got None.")
        labels, weights = _known(rows.token_classes)
        return tf.where(rows.token_classes == NO_TAG, 0, labels), weights


def _known(labels: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns labels, -1 for those that are none, and a weight of 1 or 0."""
    is_known = labels >= 0
    return tf.where(is_known, labels, -1), tf.cast(is_known, tf.float32)
