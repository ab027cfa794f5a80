"""The model and its training step on Keras's JAX backend, where TensorFlow cannot be imported."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("jax") is None, reason="needs the package jax"
)

ON_JAX = """
import sys
import numpy as np

# An import of TensorFlow fails as if it were not installed.
sys.modules["tensorflow"] = None

import keras
from keras_transformer.config import TransformerConfig
from keras_transformer.models import build_transformer
from keras_transformer.training.loop.schedule import WarmupSchedule
from keras_transformer.training.loop.training_model import TrainingModel

assert keras.backend.backend() == "jax"
given = np.load(sys.argv[1])
inputs = {name: given[name] for name in ("source_ids", "target_ids")}
model = build_transformer(TransformerConfig.from_json(str(given["config"])))
model.set_weights([given[f"weight_{index}"] for index in range(len(model.weights))])
logits = np.asarray(model(inputs, training=False))
training = TrainingModel(model)
training.compile(keras.optimizers.Adam(WarmupSchedule(0.01, 2), global_clipnorm=1.0))
labels, weights = given["labels"], given["sample_weight"]
losses = [float(training.train_on_batch(inputs, labels, weights)[0]) for _ in range(8)]
np.savez(sys.argv[2], logits=logits, losses=losses)
"""


@pytest.fixture(scope="module")
def batch() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    ids = generator.integers(4, 24, (5, 9)).astype("int32")
    ids[1:3, 6:] = 0
    target_ids = np.pad(ids[:, :-1], ((0, 0), (1, 0)), constant_values=2)
    target_ids[ids == 0] = 0
    return {
        "source_ids": ids,
        "target_ids": target_ids,
        "labels": ids,
        "sample_weight": (ids != 0).astype("float32"),
    }


@pytest.fixture(scope="module")
def model(random_model: Callable[..., Any]) -> Any:
    return random_model(dropout=0.0)


@pytest.fixture(scope="module")
def on_jax(
    batch: dict[str, np.ndarray], model: Any, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, np.ndarray]:
    directory: Path = tmp_path_factory.mktemp("jax")
    weights = {f"weight_{index}": value for index, value in enumerate(model.get_weights())}
    np.savez(directory / "given.npz", config=model.config.to_json(), **batch, **weights)
    result = subprocess.run(
        [sys.executable, "-c", ON_JAX, str(directory / "given.npz"), str(directory / "found.npz")],
        env={**os.environ, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    with np.load(directory / "found.npz") as found:
        return dict(found)


def test_logits_on_jax_are_those_on_tensorflow(
    on_jax: dict[str, np.ndarray], batch: dict[str, np.ndarray], model: Any
) -> None:
    inputs = {name: batch[name] for name in ("source_ids", "target_ids")}
    expected = np.asarray(model(inputs, training=False))
    np.testing.assert_allclose(on_jax["logits"], expected, atol=1e-4)


def test_the_first_loss_on_jax_is_that_on_tensorflow(
    on_jax: dict[str, np.ndarray], batch: dict[str, np.ndarray], model: Any
) -> None:
    from keras_transformer.training.loop.training_model import TrainingModel

    inputs = {name: batch[name] for name in ("source_ids", "target_ids")}
    training = TrainingModel(model)
    loss = training.compute_loss(
        inputs, batch["labels"], training(inputs), batch["sample_weight"], training=False
    )
    assert on_jax["losses"][0] == pytest.approx(float(loss), abs=1e-4)


def test_training_on_jax_learns(on_jax: dict[str, np.ndarray]) -> None:
    losses = on_jax["losses"]
    assert np.isfinite(losses).all()
    assert losses[-1] < losses[0] - 0.5
