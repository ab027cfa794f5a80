"""Frozen layers and slower lower ones: what changes in an update, and by how much."""

import dataclasses
import functools
from typing import Any

import keras
import numpy as np
import pytest

from keras_transformer.config import TransformerConfig
from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.models.families import build_model
from keras_transformer.training.loop.compiling import compile_transformer
from keras_transformer.training.optimizer.adam import FusedAdam
from keras_transformer.training.run.options import TrainPlan
from keras_transformer.training.transfer.freezing import first_updates, freeze_layers, layer_rates

SMALL = {"model_dim": 8, "feed_forward_dim": 16, "num_heads": 2}
ENCODER = EncoderConfig.preset(
    "bert-tiny", vocab_size=20, head="classification", labels=("a", "b"), **SMALL
)


@functools.cache
def step(**options: Any) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Returns a classifier's weights before and after one update, which is made once."""
    model, training = trained_model(**options)
    before = weights_of(model)
    train_on_batch(training)
    return before, weights_of(model)


def trained_model(**options: Any) -> tuple[Any, Any]:
    """Returns a classifier, and the compiled model that trains it for 10 updates."""
    keras.utils.set_random_seed(0)
    model = build_model(ENCODER)
    settings = TrainPlan(warmup_steps=1, learning_rate=0.01, label_smoothing=0.0, **options)
    return model, compile_transformer(model, settings, 10)


def train_on_batch(training: Any) -> None:
    ids = np.random.default_rng(0).integers(5, 20, (4, 6), np.int32)
    inputs = {"token_ids": ids, "token_type_ids": np.zeros_like(ids)}
    labels = np.asarray([[0], [1], [0], [1]], np.int32)
    training.train_on_batch(inputs, labels, np.ones((4, 1), np.float32))


def weights_of(model: Any) -> dict[str, np.ndarray]:
    return {weight.path: np.array(weight) for weight in model.weights}


def changed(before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> set[str]:
    return {path for path in before if not np.array_equal(before[path], after[path])}


def test_rates_of_both_stacks_of_a_translation() -> None:
    paths = ["source_embeddings/tokens/matrix", "encoder/block_0/x", "encoder/block_1/x"]
    paths += ["decoder/block_0/x", "decoder/final_norm/gamma", "head/bias"]
    assert list(layer_rates(paths, 0.5).values()) == [0.125, 0.25, 0.5, 0.5, 1, 1]


def test_first_updates_of_both_stacks_of_a_translation() -> None:
    paths = ["source_embeddings/tokens/matrix", "encoder/block_0/x", "encoder/block_1/x"]
    paths += ["decoder/block_0/x", "decoder/final_norm/gamma", "head/bias"]
    assert list(first_updates(paths, 10).values()) == [20, 10, 0, 0, 0, 0]
    assert list(first_updates(paths, 10, fresh=paths[:2]).values()) == [0] * 6


def test_the_encoder_of_a_translation_is_frozen_with_its_embeddings() -> None:
    sizes = {**SMALL, "num_encoder_layers": 1, "num_decoder_layers": 1}
    config = TransformerConfig.preset(
        "tiny", vocab_size=20, target_vocab_size=21, share_embeddings="target", **sizes
    )
    model = build_model(config)
    freeze_layers(model, "encoder")
    parts = {weight.path.split("/")[0] for weight in model.trainable_weights}
    assert parts == {"target_embeddings", "decoder"}


def test_what_cannot_be_frozen_is_refused() -> None:
    decoder = build_model(DecoderConfig.preset("gpt2-tiny", vocab_size=20, **SMALL))
    with pytest.raises(ValueError, match="freeze='encoder': a decoder alone has none"):
        freeze_layers(decoder, "encoder")
    with pytest.raises(ValueError, match="freeze='5': the model has only 4 blocks"):
        freeze_layers(decoder, "5")
    shared = build_model(dataclasses.replace(ENCODER, block_groups=1))
    with pytest.raises(ValueError, match="the model has only 1 block, which its layers share"):
        freeze_layers(shared, "2")
    freeze_layers(shared, "1")
    assert not any("block_0" in weight.path for weight in shared.trainable_weights)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"freeze": "head"}, "freeze must be 'embeddings', 'encoder' or a number of blocks"),
        ({"layer_decay": 0.0}, r"layer_decay must lie in \(0, 1\], got 0.0"),
        ({"unfreeze_steps": -1}, "unfreeze_steps must be at least 0, got -1"),
        ({"layer_decay": 1.5}, r"layer_decay must lie in \(0, 1\], got 1.5"),
    ],
)
def test_wrong_options_are_named(values: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrainPlan(**values)


@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param({"micro_batches": 2}, marks=pytest.mark.exhaustive),
        pytest.param({"jit_compile": True}, marks=pytest.mark.exhaustive),
    ],
)
def test_a_block_joins_every_so_many_updates_and_the_step_is_traced_once(
    options: dict[str, Any], capsys, monkeypatch
) -> None:
    traces, apply = [], FusedAdam.apply
    monkeypatch.setattr(FusedAdam, "apply", lambda *given: (traces.append(1), apply(*given))[1])
    model, training = trained_model(unfreeze_steps=2, **options)
    assert "all train after 4 of 10 updates" in capsys.readouterr().out
    still = [("embeddings/", "encoder/block_0/")] * 2 + [("embeddings/",)] * 2 + [()] * 2
    for unmoved in still:
        before = weights_of(model)
        train_on_batch(training)
        moved = changed(before, weights_of(model))
        for path in before:
            if path.endswith("kernel"):
                assert (path in moved) != path.startswith(unmoved), path
        assert not any(path.startswith(unmoved) for path in moved if unmoved)
    assert traces == [1]


def test_unfreezing_that_takes_longer_than_the_run_is_refused() -> None:
    message = "unfreeze_steps=5 .* after 10 updates, and the run has 10: lower unfreeze_steps to 2,"
    with pytest.raises(ValueError, match=message):
        trained_model(unfreeze_steps=5)


# From here on without graphs.
@pytest.mark.usefixtures("few_updates")
@pytest.mark.parametrize(
    ("freeze", "still"),
    [
        pytest.param("embeddings", ("embeddings/",), marks=pytest.mark.exhaustive),
        ("1", ("embeddings/", "encoder/block_0/")),
        pytest.param("encoder", ("embeddings/", "encoder/"), marks=pytest.mark.exhaustive),
    ],
)
def test_what_is_frozen_does_not_change_and_all_else_does(
    freeze: str, still: tuple[str, ...]
) -> None:
    moved = changed(*step(freeze=freeze))
    assert moved and not any(path.startswith(still) for path in moved)
    kernels = {path for path in changed(*step()) if path.endswith("kernel")}
    assert {path for path in kernels if not path.startswith(still)} <= moved


@pytest.mark.usefixtures("few_updates")
def test_lower_blocks_learn_more_slowly_by_the_factor() -> None:
    before, after = step(layer_decay=0.5)
    plain_before, plain_after = step()
    for path, factor in {
        "head/linear/kernel": 1,
        "pooler/linear/kernel": 1,
        "encoder/block_1/feed_forward/hidden/kernel": 0.5,
        "encoder/block_0/feed_forward/hidden/kernel": 0.25,
        "embeddings/layer_norm/gamma": 0.125,
    }.items():
        np.testing.assert_array_equal(before[path], plain_before[path])
        slow, fast = after[path] - before[path], plain_after[path] - before[path]
        np.testing.assert_allclose(slow, factor * fast, rtol=1e-3, atol=2e-7)


@pytest.mark.exhaustive
@pytest.mark.usefixtures("few_updates")
def test_frozen_layers_never_join() -> None:
    model, training = trained_model(unfreeze_steps=1, freeze="embeddings")
    before = weights_of(model)
    for _ in range(4):
        train_on_batch(training)
    moved = changed(before, weights_of(model))
    assert "encoder/block_0/attention/query/kernel" in moved
    assert not any(path.startswith("embeddings/") for path in moved)
