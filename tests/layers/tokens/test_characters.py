"""Vectors of tokens from their bytes, against the equations in float64."""

from typing import Any

import keras
import numpy as np
import pytest

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.layers import CharacterEmbedding
from keras_transformer.models.decoder_only import build_decoder

PIECES = ["<s>", "▁dog", "dogs", "a much longer piece", "é"]
SIZES: dict[str, Any] = {"character_dim": 3, "filters": 2, "largest_width": 3, "max_bytes": 9}


@pytest.fixture
def layer() -> CharacterEmbedding:
    made = CharacterEmbedding(len(PIECES), 6, **SIZES)
    made.build()
    random = np.random.default_rng(0)
    for weight in made.trainable_weights:
        weight.assign(random.standard_normal(weight.shape))
    made.spell(PIECES)
    return made


def expected(layer: CharacterEmbedding, piece: str) -> np.ndarray:
    def linear(dense: Any, values: np.ndarray) -> np.ndarray:
        return values @ np.asarray(dense.kernel, np.float64) + np.asarray(dense.bias, np.float64)

    numbers = [1, *(byte + 3 for byte in piece.encode()[:7]), 2]
    table = np.asarray(layer.bytes, np.float64)
    rows = np.zeros((9, 3))
    rows[: len(numbers)] = table[numbers]
    found = []
    for width, convolution in enumerate(layer.convolutions, 1):
        windows = [rows[at : at + width].ravel() for at in range(9 - width + 1)]
        found.append(np.tanh(max_of([linear(convolution, one) for one in windows])))
    state = np.concatenate(found)
    gate = 1 / (1 + np.exp(-linear(layer.gate, state)))
    state = gate * np.maximum(linear(layer.transform, state), 0) + (1 - gate) * state
    return linear(layer.output_linear, state)


def max_of(rows: list[np.ndarray]) -> np.ndarray:
    return np.max(np.stack(rows), axis=0)


def test_vectors_are_those_of_the_equations(layer: CharacterEmbedding) -> None:
    matrix = np.stack([expected(layer, piece) for piece in PIECES])
    np.testing.assert_allclose(layer.matrix, matrix, atol=1e-4)
    ids = np.array([[3, 0], [1, 4]], np.int32)
    np.testing.assert_allclose(layer(ids), np.sqrt(6) * matrix[ids], atol=1e-4)


def test_a_file_keeps_how_tokens_are_spelled(tmp_path) -> None:
    sizes = {"vocab_size": 5, "model_dim": 8, "num_heads": 2, "num_layers": 1, "max_positions": 9}
    characters = {"character_dim": 3, "character_filters": 2, "tied_head": False}
    model = build_decoder(DecoderConfig(**sizes, **characters, feed_forward_dim=8))
    model.embeddings.tokens.spell(PIECES)
    assert model.config.parameter_count == sum(np.prod(w.shape) for w in model.trainable_weights)
    model.save(tmp_path / "model.keras")
    ids = {"token_ids": np.array([[2, 4, 3]], np.int32)}
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(ids), model(ids))
    np.testing.assert_array_equal(
        loaded.embeddings.tokens.spelling, model.embeddings.tokens.spelling
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "character_dim makes vectors .* which tied_head=True needs: give tied_head=False"),
        ({"tied_head": False, "cutoffs": (9,)}, r"cutoffs=\(9,\) needs: give cutoffs=\(\)"),
        ({"max_token_bytes": 5}, "max_token_bytes must be at least 6, got 5"),
    ],
)
def test_what_needs_a_matrix_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DecoderConfig(vocab_size=99, character_dim=4, **fields)
