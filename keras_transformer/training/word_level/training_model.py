"""The training model of a student that learns from its teacher's distributions, too (word-level
distillation): the teacher reads every batch beside it, and is no part of what is saved.
"""

from keras import ops

from keras_transformer.models import Transformer
from keras_transformer.tensors import Tensor
from keras_transformer.training.loop.accumulation import AccumulatingTrainingModel
from keras_transformer.training.loss.linear_distillation import linear_distillation


class Teacher:
    """A trained model that gives its distribution over the vocabulary for every token of a batch.

    No Keras layer, so that a model which holds one neither trains nor saves it.

    Args:
        model: The model; it is frozen.
        share: Share of the student's loss that the distributions have, in (0, 1].
    """

    def __init__(self, model: Transformer, share: float) -> None:
        model.trainable = False
        self.share = share
        self._model = model
        self._states = model.prediction_states

    def __call__(self, inputs: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Reads a batch without dropout.

        Args:
            inputs: `source_ids` and `target_ids`, as the student reads them.

        Returns:
            States `(batch · target_length, teacher_dim)`, and the matrix `(vocabulary,
            teacher_dim)` whose products with them are logits.
        """
        states = self._states(inputs, training=False)
        states = ops.stop_gradient(ops.reshape(states, (-1, states.shape[-1])))
        return states, ops.stop_gradient(self._model.output_matrix)


class DistillingTrainingModel(AccumulatingTrainingModel):
    """A `TrainingModel` whose loss is that of `linear_distillation` in training.

    Evaluation is that of `TrainingModel`, so that students with and without it are comparable.

    Args:
        transformer: The student.
        label_smoothing: Share of the probability spread evenly over the vocabulary.
        teacher: Reads the same vocabularies.
        micro_batches: Number of parts to process a batch in.
    """

    def __init__(
        self,
        transformer: Transformer,
        label_smoothing: float,
        teacher: Teacher,
        *,
        micro_batches: int = 1,
    ) -> None:
        super().__init__(transformer, label_smoothing, micro_batches=micro_batches)
        self.teacher = teacher

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
        """Returns the sums of `linear_distillation`; arguments are those of `TrainingModel`."""
        arguments = states, matrix, labels, weights
        if not training or inputs is None:
            return super().loss_sums(*arguments, training=training, inputs=inputs)
        smoothing = self.token_loss.label_smoothing
        return linear_distillation(*arguments, smoothing, *self.teacher(inputs), self.teacher.share)
