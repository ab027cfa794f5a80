"""A small random model, its tokenizers and its artefact, each made once for all export tests."""

import dataclasses
from collections.abc import Callable
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


@dataclasses.dataclass(frozen=True)
class Exported:
    """An artefact and what it was made of."""

    path: Path
    model: Any
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer


class Vocabularies:
    """Matrices of every kind that a screened search may meet, and states for them."""

    KINDS = ("normal", "loud tokens", "alike", "twins", "zeros", "extremes", "few")

    @staticmethod
    def matrix(kind: str, vocabulary: int, width: int, seed: int = 0) -> np.ndarray:
        """A vocabulary of one of `KINDS`: float32 `(vocabulary, width)`."""
        random = np.random.default_rng(seed)
        matrix = random.normal(0, 0.1, (vocabulary, width))
        if kind == "loud tokens":
            matrix[random.integers(0, vocabulary, 9)] *= 100
        elif kind == "alike":  # No byte tells them apart.
            matrix = matrix[:1] + 1e-5 * matrix
        elif kind == "twins":
            matrix = matrix[random.integers(0, 20, vocabulary)]
        elif kind == "zeros":
            matrix[:] = 0
        elif kind == "extremes":  # The largest sums that bytes can give.
            matrix = np.sign(matrix)
        elif kind == "few":
            matrix = matrix[:3]
        return matrix.astype(np.float32)

    @staticmethod
    def states(seed: int, rows: int, spread: float, matrix: np.ndarray) -> np.ndarray:
        """States of which some single out a token, and some have an outlier."""
        random = np.random.default_rng(seed)
        width = matrix.shape[1]
        states = random.normal(0, spread, (rows, width))
        states[::3] += 3 * spread * np.sign(matrix[random.integers(0, len(matrix))])
        states[1::4, random.integers(0, width)] *= 20
        return states.astype(np.float32)


@pytest.fixture(scope="session", params=Vocabularies.KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Each kind of `Vocabularies` in turn."""
    return request.param


@pytest.fixture(scope="session")
def vocabularies() -> type[Vocabularies]:
    """`Vocabularies`."""
    return Vocabularies


@pytest.fixture(scope="session")
def texts() -> list[str]:
    """Texts of unequal length that the tokenizer knows."""
    return list(TEXTS)


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return train_tokenizer(TEXTS, VOCABULARY, "bpe")


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
def learned_model(make_model: Callable[..., Any], tokenizer: Tokenizer) -> Any:
    """The small model, trained for a moment to say the texts backwards."""
    model = make_model()
    _learn(model, tokenizer)
    return model


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


@pytest.fixture(scope="session")
def exported(
    learned_model: Any, tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory
) -> Exported:
    """The learned model and its artefact; tests must not change its files."""
    return _export(learned_model, tokenizer, tmp_path_factory, "onnxruntime")


@pytest.fixture(scope="session")
def exported_portable(
    learned_model: Any, tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory
) -> Exported:
    """As `exported`, of standard operators."""
    return _export(learned_model, tokenizer, tmp_path_factory, "portable")


@pytest.fixture(scope="session")
def exported_native(
    learned_model: Any, tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory
) -> Exported:
    """As `exported`, with this package's own operators."""
    return _export(learned_model, tokenizer, tmp_path_factory, "native")


@pytest.fixture(scope="session")
def keras_side(learned_model: Any, tokenizer: Tokenizer) -> Any:
    """The Keras `Translator` of `exported`'s model: it traces a search once for all tests."""
    from keras_transformer.decoding.translator import Translator

    return Translator(learned_model, tokenizer)


def _export(
    model: Any, tokenizer: Tokenizer, factory: pytest.TempPathFactory, target: str
) -> Exported:
    from keras_transformer.export import export_onnx

    path = export_onnx(model, tokenizer, factory.mktemp(target) / "artefact", target=target)
    return Exported(path, model, tokenizer, tokenizer)


def _learn(model: Any, tokenizer: Tokenizer) -> None:
    """Teaches a model to say the texts backwards, so that outputs end, each at its own length."""
    import keras

    rows = tokenizer.encode(TEXTS)
    length = max(map(len, rows)) + 1

    def pad(ids: list[list[int]]) -> Any:
        return np.array([row + [0] * (length - len(row)) for row in ids], np.int32)

    inputs = {
        "source_ids": pad([[*row, 3] for row in rows]),
        "target_ids": pad([[2, *row[::-1]] for row in rows]),
    }
    labels = pad([[*row[::-1], 3] for row in rows])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=0)
    model.compile(keras.optimizers.Adam(0.01), loss)
    for _ in range(60):
        model.train_on_batch(inputs, labels)
