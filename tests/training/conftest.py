"""What the training tests share: the loss in float64, and a model that is nothing but logits."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest


@pytest.fixture(scope="session")
def gradients_of() -> Callable[..., Any]:
    """`gradients_of(loss, tensors)`: the gradients of what a function returns."""
    import tensorflow as tf

    def gradients(loss: Callable[[], Any], tensors: list[Any]) -> list[Any]:
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            value = loss()
        return tape.gradient(value, tensors)

    return gradients


@pytest.fixture(scope="session")
def token_losses() -> Callable[..., np.ndarray]:
    """`token_losses(labels, logits, label_smoothing)` from section 5.4 in float64, by entries."""

    def losses(labels: np.ndarray, logits: np.ndarray, label_smoothing: float) -> np.ndarray:
        logits = np.asarray(logits, np.float64)
        shifted = logits - logits.max(axis=-1, keepdims=True)
        log_probs = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
        vocabulary = logits.shape[-1]
        targets = (1 - label_smoothing) * np.eye(vocabulary)[labels] + label_smoothing / vocabulary
        return -(targets * log_probs).sum(axis=-1)

    return losses


@pytest.fixture(scope="session")
def small() -> Callable[..., Any]:
    """`small(dtype_policy, **fields)`: a Transformer of one block a side, always the same one."""
    import keras

    from keras_transformer.config import TransformerConfig
    from keras_transformer.models import build_transformer

    sizes = {"model_dim": 16, "num_encoder_layers": 1, "num_decoder_layers": 1}

    def make(dtype_policy: str | None = None, **fields: Any) -> Any:
        keras.utils.set_random_seed(1)
        config = TransformerConfig.preset("tiny", vocab_size=40, **sizes, **fields)
        return build_transformer(config, dtype_policy)

    return make


@pytest.fixture
def logit_table() -> Any:
    """A model whose logits for an id are a row of its only matrix, (9, 9)."""
    import keras

    ids = keras.Input((None,), dtype="int32")
    table = keras.layers.Embedding(9, 9, embeddings_initializer=keras.initializers.RandomNormal())
    model = keras.Model(ids, table(ids))
    table.embeddings.assign(np.random.default_rng(0).standard_normal((9, 9)) * 3)
    return model
