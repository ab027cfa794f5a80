"""Classification with any number of labels: whether a text has each of them is predicted."""

from dataclasses import dataclass

import tensorflow as tf

from keras_transformer.data.objectives.classes import Classes
from keras_transformer.data.objectives.objective import Rows


@dataclass(frozen=True)
class LabelSets(Classes):
    """Passes rows on with whether they have each label.

    Args:
        sets: For each number that a row may have instead of a label, 1 for each label of that set
            and 0 for each other one.
    """

    sets: tuple[tuple[int, ...], ...] = ()

    def labels_of(self, rows: Rows) -> tf.Tensor:
        """Returns 1 for each label of each row and 0 for the others, `(B, labels)`."""
        return tf.gather(tf.constant(self.sets, tf.int32), rows.classes)
