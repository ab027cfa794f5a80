"""Updates made of micro-batches against updates made of whole batches."""

import dataclasses
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from few_updates import without_graphs

from keras_transformer.training.loop.compiling import compile_transformer
from keras_transformer.training.run.options import TrainPlan


@pytest.fixture(scope="module")
def batches() -> tf.data.Dataset:
    """Seven rows of unequal lengths in each of two batches, the last row much the longest."""
    generator = np.random.default_rng(0)
    ids = generator.integers(4, 40, (14, 5)).astype("int32")
    targets = generator.integers(4, 40, (14, 7)).astype("int32")
    labels = generator.integers(4, 40, (14, 7)).astype("int32")
    for row in range(13):
        length = 1 + row % 4
        targets[row, length:] = labels[row, length:] = ids[row, length:] = 0
    inputs = {"source_ids": ids, "target_ids": targets}
    weights = (labels != 0).astype("float32")
    return tf.data.Dataset.from_tensor_slices((inputs, labels, weights)).batch(7)


# Parts of 4 + 3 rows, of 3 + 3 + 1, of single rows, and more parts than rows.
@pytest.mark.parametrize(
    ("micro_batches", "jit_compile"),
    [
        (2, False),
        pytest.param(3, True, marks=pytest.mark.exhaustive),
        pytest.param(7, False, marks=pytest.mark.exhaustive),
        pytest.param(9, False, marks=pytest.mark.exhaustive),
    ],
)
def test_updates_and_figures_are_those_of_whole_batches(
    small: Callable[..., Any], batches: tf.data.Dataset, micro_batches: int, jit_compile: bool
) -> None:
    # The limit would show where gradients are clipped part by part; ε because gradients that are
    # zero but for rounding, such as those of key biases, should move nothing.
    whole = TrainPlan(clip_norm=0.3, epsilon=1e-5, warmup_steps=1)
    parted = dataclasses.replace(
        whole, micro_batches=micro_batches, recompute=True, jit_compile=jit_compile
    )
    models, histories = [], []
    for options in (whole, parted):
        model = small(dropout=0.0)
        training = compile_transformer(model, options, updates=4)
        with without_graphs() if options is whole else nullcontext():
            histories.append(training.fit(batches, epochs=2, shuffle=False, verbose=0).history)
        models.append(model)
    theirs, ours = histories
    assert ours.keys() == theirs.keys()
    for name in theirs:
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-4, err_msg=name)
    for other, mine in zip(models[0].weights, models[1].weights, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-3, atol=1e-5)
