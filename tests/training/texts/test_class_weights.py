"""Labels weigh alike in the loss: the weights are scikit-learn's, and the accuracy has none."""

from typing import Any

import keras
import numpy as np
import pytest

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.models.families import build_model
from keras_transformer.training.loop.accumulation import AccumulatingTrainingModel
from keras_transformer.training.loop.training_model import TrainingModel
from keras_transformer.training.texts.class_weights import balanced_weights, counted, listed

SIZES = {"model_dim": 16, "feed_forward_dim": 32, "num_heads": 2, "num_layers": 1}
LABELS = np.array([[0], [0], [0], [1]], np.int32)
IDS = np.random.default_rng(0).integers(5, 20, (4, 6), np.int32)
INPUTS = {"token_ids": IDS, "token_type_ids": np.zeros_like(IDS)}


def test_the_weights_are_scikit_learns() -> None:
    # sklearn.utils.class_weight.compute_class_weight("balanced", classes=[0, 1, 2], y=...) of
    # 50, 30 and 20 texts.
    expected = [0.6666666666666666, 1.1111111111111112, 1.6666666666666667]
    np.testing.assert_allclose(balanced_weights([50, 30, 20]), expected, rtol=1e-6)
    counts = np.array([7, 1, 12, 3])
    assert (balanced_weights(counts) * counts).sum() == pytest.approx(counts.sum())
    # A label of validation texts alone.
    np.testing.assert_allclose(balanced_weights([30, 0, 10]), [2 / 3, 1, 2], rtol=1e-6)


def classifier() -> Any:
    keras.utils.set_random_seed(0)
    config = EncoderConfig.preset(
        "bert-tiny", vocab_size=20, head="classification", labels=("a", "b"), dropout=0.0,
        attention_dropout=0.0, **SIZES
    )  # fmt: skip
    return build_model(config)


@pytest.mark.parametrize("parts", [1, 2])
def test_the_loss_is_weighted_and_the_accuracy_is_not(parts: int) -> None:
    model = classifier()
    logits = np.asarray(model(INPUTS), np.float64)
    losses = np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(4), LABELS[:, 0]]
    weights = balanced_weights([3, 1])
    training = (
        TrainingModel(model, label_smoothing=0.0)
        if parts == 1
        else AccumulatingTrainingModel(model, label_smoothing=0.0, micro_batches=parts)
    )
    training.class_weights = weights
    training.compile(optimizer="sgd" if parts == 1 else None)
    found = training.test_on_batch(INPUTS, LABELS, np.ones((4, 1), np.float32), return_dict=True)
    assert found["loss"] == pytest.approx((weights[LABELS[:, 0]] * losses).mean(), rel=1e-4)
    assert found["accuracy"] == np.mean(logits.argmax(axis=1) == LABELS[:, 0])
    assert {*found} == {"loss", "accuracy", "batch_loss"}


def test_gradients_are_those_of_the_weighted_loss() -> None:
    import tensorflow as tf

    def gradient(weights: Any, rows: list[int]) -> np.ndarray:
        training = TrainingModel(classifier(), label_smoothing=0.0)
        training.class_weights = weights
        inputs = {name: ids[rows] for name, ids in INPUTS.items()}
        with tf.GradientTape() as tape:
            states = training(inputs, training=True)
            loss = training.compute_loss(inputs, LABELS[rows], states, np.ones((len(rows), 1), "f"))
        [kernel] = [one for one in training.trainable_variables if "head" in one.path][:1]
        return np.asarray(tape.gradient(loss, kernel.value))

    # A label that weighs three times is as good as three texts.
    weighted = gradient(np.array([1.0, 3.0], np.float32), [0, 1, 2, 3])
    repeated = gradient(None, [0, 1, 2, 3, 3, 3])
    np.testing.assert_allclose(weighted * 4, repeated * 6, rtol=1e-4, atol=1e-6)


def test_many_labels_are_summed_up() -> None:
    counts = {f"l{number:02}": 100 - number for number in range(30)}
    said = counted(counts)
    assert said.startswith("30: l00 100, l01 99, ") and said.endswith(
        ", l08 92, 18 more, l27 73, l28 72, l29 71"
    )
    assert listed(("a", "b"), [0.5, 2.0], ".3g") == "a 0.5, b 2"
