"""Word-level distillation in `fit`: the loss is that of both models' logits; one of them learns."""

import itertools
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest

from keras_transformer.training.word_level.training_model import DistillingTrainingModel, Teacher

SHARE = 0.4


@pytest.mark.parametrize("micro_batches", [pytest.param(1, marks=pytest.mark.exhaustive), 2])
def test_the_student_learns_from_the_teachers_distributions(
    small: Callable[..., Any], token_losses: Callable[..., np.ndarray], micro_batches: int
) -> None:
    generator = np.random.default_rng(0)
    inputs = {
        "source_ids": generator.integers(4, 40, (3, 5)).astype("int32"),
        "target_ids": generator.integers(4, 40, (3, 7)).astype("int32"),
    }
    labels = generator.integers(4, 40, (3, 7)).astype("int32")
    weights = (generator.random((3, 7)) < 0.8).astype("float32")
    # The teacher's dropout must be off; its width and its biases are its own.
    teacher = small(dropout=0.5, num_heads=2, feed_forward_dim=48, logit_bias=True)
    for variable in teacher.trainable_variables:
        variable.assign_add(generator.normal(size=variable.shape) * 0.3)
    student = small(dropout=0.0)
    logs = [np.asarray(model(inputs, training=False), np.float64) for model in (student, teacher)]
    log_q, log_p = (logits - np.log(np.exp(logits).sum(-1, keepdims=True)) for logits in logs)
    divergence = (np.exp(log_p) * (log_p - log_q)).sum(-1)
    tokens = (1 - SHARE) * token_losses(labels, logs[0], 0.1) + SHARE * divergence
    before = [np.asarray(weight) for weight in teacher.weights]

    training = DistillingTrainingModel(
        student, 0.1, Teacher(teacher, SHARE), micro_batches=micro_batches
    )
    training.compile(keras.optimizers.SGD(0.5))
    first = training.train_on_batch(inputs, labels, weights, return_dict=True)

    np.testing.assert_allclose(first["loss"], (tokens * weights).sum() / weights.sum(), rtol=1e-4)
    own = {id(variable) for variable in student.trainable_variables}
    assert {id(variable) for variable in training.trainable_variables} == own
    theirs = {id(variable) for variable in teacher.variables}
    assert not theirs & {id(variable) for variable in training.variables}
    for kept, weight in itertools.zip_longest(before, teacher.weights):
        np.testing.assert_array_equal(kept, weight)
