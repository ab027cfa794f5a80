"""Small models with random weights, some trained for a moment, and the tokenizer they share."""

import hashlib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.config import TransformerConfig
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer

VOCABULARY = 60
TEXTS = [
    "a small house stands by the river",
    "the red dog runs to the house",
    "we see three birds",
    "you buy a book and you read it",
    "hello",
    "hello, how are you today? the river is blue and the birds are small",
]


@pytest.fixture(scope="session")
def randomize() -> Callable[..., Any]:
    """`randomize(layer, seed=0)` draws every weight anew, biases and norms too; returns it."""
    return _randomize


def _randomize(layer: Any, seed: int = 0, scale: float = 0.4) -> Any:
    generator = np.random.default_rng(seed)
    for weight in layer.weights:
        if weight.dtype == "int32":  # a table of small numbers
            weight.assign(generator.integers(0, 9, weight.shape))
            continue
        centre = 1.0 if weight.name == "gamma" else 0.0
        weight.assign(centre + scale * generator.standard_normal(weight.shape))
    return layer


@pytest.fixture(scope="session")
def tiny_config() -> Callable[..., Any]:
    """`tiny_config(**fields)`: 24 ids, width 12, 2+2 layers, dropout 0.1."""

    def make(**fields: Any) -> Any:
        sizes = {
            "source_vocab_size": 24,
            "model_dim": 12,
            "feed_forward_dim": 20,
            "num_heads": 3,
            "num_encoder_layers": 2,
            "num_decoder_layers": 2,
        }
        return TransformerConfig(**{**sizes, **fields})

    return make


@pytest.fixture(scope="session")
def modern() -> dict[str, Any]:
    """Fields for `tiny_config`: the blocks of today's decoders, and attention without a scale."""
    return {
        "norm": "pre",
        "norm_kind": "rms_norm",
        "gated_feed_forward": True,
        "use_bias": False,
        "scale_attention": False,
        "num_heads": 6,
        "num_key_value_heads": 2,
        "key_dim": 4,
        "value_dim": 3,
        "rotary_base": 100.0,
    }


@pytest.fixture(scope="session")
def as_t5() -> dict[str, Any]:
    """Fields for `make_model`: the blocks of T5 1.1, and embeddings without positions."""
    return {
        "norm": "pre",
        "norm_kind": "rms_norm",
        "gated_feed_forward": True,
        "activation": "gelu_tanh",
        "use_bias": False,
        "scale_attention": False,
        "relative_buckets": 8,
        "relative_max_distance": 16,
        "positions": "none",
        "scale_embeddings": False,
    }


@pytest.fixture(scope="session")
def random_model(tiny_config: Callable[..., Any]) -> Callable[..., Any]:
    """`random_model(**fields)`: a model of `tiny_config` with random weights, made once."""
    models: dict[str, Any] = {}

    def make(**fields: Any) -> Any:
        from keras_transformer.models import build_transformer

        config = tiny_config(**fields)
        if config.to_json() not in models:
            models[config.to_json()] = _randomize(build_transformer(config))
        return models[config.to_json()]

    return make


@pytest.fixture(scope="session")
def texts() -> list[str]:
    """Texts of unequal length that the tokenizer knows."""
    return list(TEXTS)


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return train_tokenizer(TEXTS, VOCABULARY, "bpe")


@pytest.fixture(scope="session")
def masked_tokenizer() -> Tokenizer:
    """As `tokenizer`, with a piece `<mask>`."""
    return train_tokenizer(TEXTS, VOCABULARY, "bpe", has_mask=True)


@pytest.fixture(scope="session")
def small_encoder(masked_tokenizer: Tokenizer) -> Callable[..., Any]:
    """`small_encoder(**fields)`: a random encoder, 24 wide, with fields replaced, made once."""
    from keras_transformer.config.encoder_only import EncoderConfig
    from keras_transformer.models.encoder_only import build_encoder

    return _small(EncoderConfig, build_encoder, masked_tokenizer, {"max_positions": 64})


@pytest.fixture(scope="session")
def small_decoder(masked_tokenizer: Tokenizer) -> Callable[..., Any]:
    """As `small_encoder`, a decoder alone."""
    from keras_transformer.config.decoder_only import DecoderConfig
    from keras_transformer.models.decoder_only import build_decoder

    return _small(DecoderConfig, build_decoder, masked_tokenizer, {"max_positions": 60})


def _small(
    config_class: Any, build: Callable[..., Any], tokenizer: Tokenizer, extra: dict[str, Any]
) -> Callable[..., Any]:
    models: dict[str, Any] = {}
    sizes = {
        "vocab_size": VOCABULARY,
        "special_ids": tokenizer.special_ids,
        "model_dim": 24,
        "feed_forward_dim": 40,
        "num_heads": 4,
        "num_layers": 2,
        **extra,
    }

    def make(**fields: Any) -> Any:
        config = config_class(**{**sizes, **fields})
        if config.to_json() not in models:
            models[config.to_json()] = _randomize(build(config))
        return models[config.to_json()]

    return make


@pytest.fixture(scope="session")
def make_model() -> Callable[..., Any]:
    """`make_model(**fields)`: a random 1+2-layer model, 32 wide, with fields replaced."""
    import keras

    from keras_transformer.models.transformer import build_transformer

    def make(**fields: Any) -> Any:
        settings = {
            "source_vocab_size": VOCABULARY,
            "model_dim": 32,
            "feed_forward_dim": 48,
            "num_heads": 4,
            "num_encoder_layers": 1,
            "num_decoder_layers": 2,
        }
        keras.utils.set_random_seed(1)
        return build_transformer(TransformerConfig(**{**settings, **fields}))

    return make


@pytest.fixture(scope="session")
def learned(
    make_model: Callable[..., Any], tokenizer: Tokenizer, made_once: Callable[..., Path]
) -> Callable[..., Any]:
    """`learned(steps=60, **fields)`: `make_model`'s, trained to say the texts backwards."""
    models: dict[str, Any] = {}

    def make(steps: int = 60, **fields: Any) -> Any:
        model = make_model(**fields)
        key = f"{steps} {model.config.to_json()}"
        if key not in models:

            def learn(directory: Path) -> None:
                learning = make_model(**fields)
                _learn(learning, tokenizer, steps)
                learning.save_weights(directory / "learned.weights.h5")

            name = f"learned_{hashlib.sha256(key.encode()).hexdigest()[:16]}"
            model.load_weights(made_once(name, learn) / "learned.weights.h5")
            models[key] = model
        return models[key]

    return make


@pytest.fixture(scope="session")
def learned_model(learned: Callable[..., Any]) -> Any:
    """The small model, trained for a moment to say the texts backwards."""
    return learned()


@pytest.fixture(scope="session")
def ending_model(make_model: Callable[..., Any]) -> Any:
    """A model whose best next token is the end, whatever came before."""
    model = make_model(num_decoder_layers=1)
    weights = {weight.path: weight for weight in model.weights}
    last = "decoder/block_0/feed_forward_residual/layer_norm"
    end = weights["source_embeddings/tokens/matrix"].numpy()[3]
    weights[f"{last}/gamma"].assign(np.zeros_like(end))
    weights[f"{last}/beta"].assign(end)
    return model


def _learn(model: Any, tokenizer: Tokenizer, steps: int) -> None:
    """Teaches a model to say the texts backwards, so that outputs end, each at its own length."""
    import keras

    rows = tokenizer.encode(TEXTS)
    length = max(map(len, rows)) + 1

    def pad(ids: list[list[int]]) -> Any:
        return np.array([row + [0] * (length - len(row)) for row in ids], np.int32)

    inputs = {
        "source_ids": pad([[*row, 3] for row in rows]),
        "target_ids": pad([[model.config.special_ids.decoder_start, *row[::-1]] for row in rows]),
    }
    labels = pad([[*row[::-1], 3] for row in rows])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=0)
    model.compile(keras.optimizers.Adam(0.01), loss)
    for _ in range(steps):
        model.train_on_batch(inputs, labels)


@pytest.fixture(scope="session")
def tokenizer_jsons() -> dict[str, bytes]:
    """A `tokenizer.json` as BERT's, RoBERTa's and GPT-2's are, each trained on a few sentences."""
    return import_module("tokenizer_jsons").make_all()
