"""What `fit` trains against the plain way: the Transformer compiled with loss and metrics."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.models.decoder_only import build_decoder
from keras_transformer.training.loop.accumulation import AccumulatingTrainingModel
from keras_transformer.training.loop.training_model import TrainingModel
from keras_transformer.training.loss.label_smoothing import SmoothedCrossEntropy
from keras_transformer.training.loss.metrics import Perplexity, TokenAccuracy
from keras_transformer.training.optimizer.adam import FusedAdam


@pytest.fixture(scope="module")
def batches() -> tf.data.Dataset:
    generator = np.random.default_rng(0)
    ids = generator.integers(4, 40, (6, 5)).astype("int32")
    targets = generator.integers(4, 40, (6, 7)).astype("int32")
    labels = generator.integers(4, 40, (6, 7)).astype("int32")
    targets[3:, 4:] = labels[3:, 4:] = 0
    weights = (labels != 0).astype("float32")
    inputs = {"source_ids": ids, "target_ids": targets}
    # The second batch is shorter and has fewer tokens: means of batches, rows and tokens differ.
    whole = tf.data.Dataset.from_tensor_slices((inputs, labels, weights)).batch(3)
    return whole.take(1).concatenate(
        whole.skip(1).map(
            lambda inputs, labels, weights: (
                {"source_ids": inputs["source_ids"], "target_ids": inputs["target_ids"][:, :4]},
                labels[:, :4],
                weights[:, :4],
            )
        )
    )


# With XLA: test_accumulation.
@pytest.mark.parametrize(
    "share_embeddings",
    [
        "all",
        pytest.param("target", marks=pytest.mark.exhaustive),
        pytest.param("none", marks=pytest.mark.exhaustive),
    ],
)
def test_training_it_is_training_the_transformer_on_its_logits(
    small: Callable[..., Any], batches: tf.data.Dataset, share_embeddings: str
) -> None:
    plain = small(dropout=0.0, share_embeddings=share_embeddings)
    plain.compile(
        keras.optimizers.SGD(0.5),
        loss=SmoothedCrossEntropy(0.1),
        weighted_metrics=[TokenAccuracy(), Perplexity()],
        run_eagerly=True,
    )
    inside = small(dropout=0.0, share_embeddings=share_embeddings)
    training = TrainingModel(inside, 0.1)
    training.compile(keras.optimizers.SGD(0.5))
    theirs = plain.fit(batches, epochs=2, shuffle=False, verbose=0).history
    ours = training.fit(batches, epochs=2, shuffle=False, verbose=0).history
    for name in ("loss", "token_accuracy", "perplexity"):
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-4)
    for mine, other in zip(inside.weights, plain.weights, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-3, atol=1e-5)


@pytest.fixture
def capped() -> Callable[[], Any]:
    """`capped()`: a small decoder whose logits have a cap, the same each time."""

    def build() -> Any:
        keras.utils.set_random_seed(0)
        sizes = {"vocab_size": 40, "model_dim": 12, "feed_forward_dim": 16, "num_heads": 2}
        settings = {"num_layers": 1, "dropout": 0.0, "attention_dropout": 0.0}
        return build_decoder(DecoderConfig(**sizes, **settings, final_logit_soft_cap=0.3))

    return build


def test_training_reads_capped_logits(capped: Callable[[], Any], batches: tf.data.Dataset) -> None:
    texts = batches.map(lambda inputs, *rest: ({"token_ids": inputs["target_ids"]}, *rest))
    plain, inside = capped(), capped()
    plain.compile(
        keras.optimizers.SGD(0.5),
        loss=SmoothedCrossEntropy(0.1),
        weighted_metrics=[TokenAccuracy(), Perplexity()],
        run_eagerly=True,
    )
    training = TrainingModel(inside, 0.1)
    training.compile(keras.optimizers.SGD(0.5))
    theirs = plain.fit(texts, epochs=2, shuffle=False, verbose=0).history
    ours = training.fit(texts, epochs=2, shuffle=False, verbose=0).history
    for name in ("loss", "token_accuracy", "perplexity"):
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-4)
    for mine, other in zip(inside.weights, plain.weights, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-3, atol=1e-5)


def test_r_drop_has_no_form_for_capped_logits(capped: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=r"final_logit_soft_cap \(0.3\) .* r_drop must be 0, got"):
        TrainingModel(capped(), r_drop=5.0)


@pytest.mark.parametrize("options", [{"label_smoothing": 0.1}, {"r_drop": 2.0}])
def test_clusters_of_ids_have_no_form_for_losses_of_all_logits(options: dict[str, float]) -> None:
    sizes = {"vocab_size": 40, "model_dim": 12, "num_heads": 2, "num_layers": 1}
    model = build_decoder(DecoderConfig(**sizes, cutoffs=(10,)))
    [name] = options
    with pytest.raises(ValueError, match=rf"cutoffs \(10,\) has no logits .*: {name} must be 0"):
        TrainingModel(model, **{"label_smoothing": 0.0, **options})


@pytest.mark.exhaustive
def test_r_drop_without_dropout_changes_nothing(
    small: Callable[..., Any], batches: tf.data.Dataset
) -> None:
    histories, weights = [], []
    for r_drop in (0.0, 5.0):
        model = small(dropout=0.0)
        training = TrainingModel(model, r_drop=r_drop)
        training.compile(keras.optimizers.SGD(0.5))
        fitted = training.fit(batches, epochs=2, shuffle=False, verbose=0, validation_data=batches)
        histories.append(fitted.history)
        weights.append(model.get_weights())
    for name, values in histories[0].items():
        np.testing.assert_allclose(histories[1][name], values, rtol=1e-4, err_msg=name)
    for mine, other in zip(*weights, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-3, atol=1e-5)


@pytest.mark.exhaustive
def test_r_drop_draws_the_passes_together(
    small: Callable[..., Any], batches: tf.data.Dataset
) -> None:
    inputs = next(iter(batches))[0]
    distances = []
    for r_drop in (0.0, 20.0):
        model = small(dropout=0.3)
        training = TrainingModel(model, r_drop=r_drop)
        training.compile(keras.optimizers.Adam(0.01))
        training.fit(batches, epochs=20, shuffle=False, verbose=0)
        one, other = (keras.ops.log_softmax(model(inputs, training=True)) for _ in range(2))
        distances.append(float(tf.reduce_sum(tf.exp(one) * (one - other))))
    assert distances[1] < 0.5 * distances[0]


@pytest.mark.exhaustive
def test_r_drop_works_with_parts_and_recomputation(
    small: Callable[..., Any], batches: tf.data.Dataset
) -> None:
    weights = []
    for parts, recompute in ((1, False), (3, True)):
        model = small(dropout=0.0)
        model.recompute_activations(recompute)
        training = AccumulatingTrainingModel(model, r_drop=5.0, micro_batches=parts)
        training.compile(FusedAdam(0.01, epsilon=1e-3))
        training.fit(batches, epochs=2, shuffle=False, verbose=0)
        weights.append(model.get_weights())
    for mine, other in zip(*weights, strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-4)


@pytest.mark.exhaustive
def test_it_trains_in_bfloat16(small: Callable[..., Any], batches: tf.data.Dataset) -> None:
    training = TrainingModel(small("mixed_bfloat16", dropout=0.0))
    training.compile(keras.optimizers.Adam(0.01))
    losses = training.fit(batches, epochs=8, shuffle=False, verbose=0).history["loss"]
    assert losses[-1] < 0.8 * losses[0]


def test_its_weights_are_the_transformers(small: Callable[..., Any]) -> None:
    model = small()
    training = TrainingModel(model)
    assert [id(weight) for weight in training.weights] == [id(weight) for weight in model.weights]


def test_a_negative_r_drop_is_refused(small: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match=r"r_drop must be at least 0, got -1"):
        TrainingModel(small(), r_drop=-1.0)


def test_a_label_smoothing_out_of_range_is_refused(small: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match=r"label_smoothing must lie in \[0, 1\), got 1"):
        TrainingModel(small(), 1.0)


# From here on without graphs.
@pytest.mark.usefixtures("few_updates")
def test_a_callback_saves_the_transformer(
    small: Callable[..., Any], batches: tf.data.Dataset, tmp_path: Path
) -> None:
    model, checkpoint = small(), keras.callbacks.ModelCheckpoint
    training = TrainingModel(model, 0.1)
    training.compile(keras.optimizers.SGD(0.5))
    whole, weights = tmp_path / "model.keras", tmp_path / "model.weights.h5"
    callbacks = [checkpoint(whole), checkpoint(weights, save_weights_only=True)]
    training.fit(batches, shuffle=False, verbose=0, callbacks=callbacks)
    loaded, filled = keras.saving.load_model(whole), small()
    assert loaded.config == model.config
    filled.load_weights(weights)
    for same in (loaded, filled):
        for found, trained in zip(same.weights, model.weights, strict=True):
            np.testing.assert_array_equal(found, trained)
    trained = model.get_weights()
    model.set_weights([0 * value for value in trained])
    training.load_weights(weights)
    np.testing.assert_array_equal(model.get_weights()[0], trained[0])


@pytest.mark.usefixtures("few_updates")
def test_evaluation_is_the_transformers(
    small: Callable[..., Any], batches: tf.data.Dataset
) -> None:
    model = small()
    model.compile(loss=SmoothedCrossEntropy(0.1), weighted_metrics=[TokenAccuracy(), Perplexity()])
    theirs = model.evaluate(batches, return_dict=True, verbose=0)
    training = TrainingModel(model, 0.1)
    training.compile()
    ours = training.evaluate(batches, return_dict=True, verbose=0)
    for name, value in theirs.items():
        assert ours[name] == pytest.approx(value, rel=1e-4)


@pytest.mark.usefixtures("few_updates")
def test_the_newest_batchs_loss_is_in_the_logs(
    small: Callable[..., Any], batches: tf.data.Dataset
) -> None:
    training = TrainingModel(small(dropout=0.0))
    training.compile(keras.optimizers.SGD(0.0))
    seen = []
    record = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: seen.append(float(logs["batch_loss"]))
    )
    training.fit(batches, shuffle=False, verbose=0, callbacks=[record])
    alone = [
        training.evaluate(batches.skip(number).take(1), return_dict=True, verbose=0)["loss"]
        for number in range(2)
    ]
    np.testing.assert_allclose(seen, alone, rtol=1e-5)
