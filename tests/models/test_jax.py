"""The model and its training step on Keras's JAX backend, where TensorFlow cannot be imported."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fresh_process import python

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.models.decoder_only import build_decoder
from keras_transformer.models.encoder_only import build_encoder

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("jax") is None, reason="needs the package jax"
)

ON_JAX = """
import sys
import numpy as np

# An import of TensorFlow fails as if it were not installed.
sys.modules["tensorflow"] = None

import json
import jax
import keras
from keras_transformer.config.families import config_from_dict
from keras_transformer.layers.token_embedding import TokenEmbedding
from keras_transformer.models import build_transformer
from keras_transformer.models.decoder_only import build_decoder
from keras_transformer.models.encoder_only import build_encoder
from keras_transformer.training.optimizer.schedule import WarmupSchedule
from keras_transformer.training.loop.training_model import TrainingModel

assert keras.backend.backend() == "jax"
given = np.load(sys.argv[1])
values = json.loads(str(given["config"]))
build = {"encoder": build_encoder, "decoder": build_decoder}.get(
    values.get("family"), build_transformer
)
model = build(config_from_dict(values))
inputs = {name: given[name] for name in model.input}
model.set_weights([given[f"weight_{index}"] for index in range(len(model.weights))])
logits = np.asarray(model(inputs, training=False))
if "places" in given:
    inputs["places"] = given["places"]
training = TrainingModel(model)
training.compile(keras.optimizers.Adam(WarmupSchedule(0.01, 2), global_clipnorm=1.0))
labels, weights = given["labels"], given["sample_weight"]
losses = [float(training.train_on_batch(inputs, labels, weights)[0]) for _ in range(8)]

embedding = TokenEmbedding(4, 2, scale=False, dtype="mixed_bfloat16")
embedding.build()
thousand = jax.numpy.ones((10, 100), "int32")
look_up = lambda matrix: embedding.stateless_call([matrix], [], thousand)[0].astype("float32").sum()
gradient = jax.jit(jax.grad(look_up))(embedding.matrix.value)
np.savez(sys.argv[2], logits=logits, losses=losses, embedding_gradient=gradient)
"""

QUICK_TO_COMPILE = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"


SIZES = {"vocab_size": 24, "model_dim": 12, "feed_forward_dim": 20, "num_heads": 3, "num_layers": 2}


@pytest.fixture(
    scope="module",
    params=[
        "transformer",
        pytest.param("encoder", marks=pytest.mark.exhaustive),
        pytest.param("decoder", marks=pytest.mark.exhaustive),
    ],
)
def model(request: pytest.FixtureRequest, random_model: Any, randomize: Any) -> Any:
    """A random model of each family, without dropout."""
    if request.param == "transformer":
        return random_model(dropout=0.0, num_encoder_layers=1, num_decoder_layers=1)
    plain: dict[str, Any] = {**SIZES, "dropout": 0.0, "attention_dropout": 0.0}
    if request.param == "encoder":
        distances = {"head": "masked_lm", "relative_sinusoids": True}
        return randomize(build_encoder(EncoderConfig(**plain, **distances)))
    return randomize(build_decoder(DecoderConfig(**plain, relative_buckets=8, logit_bias=True)))


@pytest.fixture(scope="module")
def batch(model: Any) -> dict[str, np.ndarray]:
    """The model's inputs, labels and weights, and for masked tokens their places."""
    generator = np.random.default_rng(0)
    ids = generator.integers(4, 24, (5, 9)).astype("int32")
    ids[1:3, 6:] = 0
    shifted = np.pad(ids[:, :-1], ((0, 0), (1, 0)), constant_values=2)
    shifted[ids == 0] = 0
    weights = (ids != 0).astype("float32")
    if "source_ids" in model.input:
        return {"source_ids": ids, "target_ids": shifted, "labels": ids, "sample_weight": weights}
    if "token_type_ids" not in model.input:
        return {"token_ids": shifted, "labels": ids, "sample_weight": weights}
    places = np.array([[1, 4]] * 5, np.int32)
    return {
        "token_ids": ids,
        "token_type_ids": (np.arange(9) > 3).astype("int32") * (ids != 0),
        "places": places,
        "labels": np.take_along_axis(ids, places, axis=1),
        "sample_weight": np.ones((5, 2), "float32"),
    }


@pytest.fixture(scope="module")
def on_jax(
    batch: dict[str, np.ndarray], model: Any, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, np.ndarray]:
    directory: Path = tmp_path_factory.mktemp("jax")
    weights = {f"weight_{index}": value for index, value in enumerate(model.get_weights())}
    np.savez(directory / "given.npz", config=model.config.to_json(), **batch, **weights)
    python(
        *("-c", ON_JAX, directory / "given.npz", directory / "found.npz"),
        KERAS_BACKEND="jax",
        JAX_PLATFORMS="cpu",
        PYTHONPATH="",  # It would hide JAX.
        # Optimizing takes longer than these few updates do.
        XLA_FLAGS=QUICK_TO_COMPILE,
    )
    with np.load(directory / "found.npz") as found:
        return dict(found)


def test_logits_on_jax_are_those_on_tensorflow(
    on_jax: dict[str, np.ndarray], batch: dict[str, np.ndarray], model: Any
) -> None:
    inputs = {name: batch[name] for name in model.input}
    expected = np.asarray(model(inputs, training=False))
    np.testing.assert_allclose(on_jax["logits"], expected, atol=1e-4)


def test_the_first_loss_on_jax_is_that_on_tensorflow(
    on_jax: dict[str, np.ndarray], batch: dict[str, np.ndarray], model: Any
) -> None:
    from keras_transformer.training.loop.training_model import TrainingModel

    inputs = {name: batch[name] for name in batch if name not in ("labels", "sample_weight")}
    training = TrainingModel(model)
    loss = training.compute_loss(
        inputs, batch["labels"], training(inputs), batch["sample_weight"], training=False
    )
    assert on_jax["losses"][0] == pytest.approx(float(loss), abs=1e-4)


def test_training_on_jax_learns(on_jax: dict[str, np.ndarray]) -> None:
    losses = on_jax["losses"]
    assert np.isfinite(losses).all()
    assert losses[-1] < losses[0] - 0.5


def test_gradients_of_a_frequent_token_are_summed_in_float32_in_mixed_precision(
    on_jax: dict[str, np.ndarray],
) -> None:
    # In bfloat16 a sum of ones ends at 256.
    expected = np.zeros((4, 2))
    expected[1] = 1000
    np.testing.assert_array_equal(on_jax["embedding_gradient"], expected)
