"""Attention by Keras's operator gives what the written-out form gives."""

from typing import Any

import keras
import numpy as np
import pytest

from keras_transformer.config import AttentionConfig
from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.variants import fused_attention


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """Pretends that there are kernels; the shape of the queries of each call of the operator."""
    found: list[tuple[int, ...]] = []
    real = keras.ops.dot_product_attention

    def noted(query: Any, *arguments: Any, **options: Any) -> Any:
        found.append(tuple(query.shape))
        return real(query, *arguments, **options)

    monkeypatch.setattr(fused_attention, "has_kernels", lambda dtype: True)
    monkeypatch.setattr(fused_attention.ops, "dot_product_attention", noted)
    return found


def inputs(length: int) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    keep = np.ones((3, 1, 1, length), bool)
    keep[0, ..., 2:] = False
    keep[1] = False
    return {
        "query": generator.standard_normal((3, length, 8)).astype("float32"),
        "keep_mask": keep,
        "bias": generator.standard_normal((1, 4, length, length)).astype("float32"),
    }


@pytest.mark.parametrize("key_value_heads", [4, 2])
def test_outputs_are_those_of_the_written_out_form(
    key_value_heads: int, calls: list[tuple[int, ...]]
) -> None:
    layer = MultiHeadAttention(
        AttentionConfig(num_heads=4, key_dim=2, num_key_value_heads=key_value_heads)
    )
    found = layer(**inputs(6))
    assert calls == [(3, 6, 4, 2)]
    expected, _ = layer(**inputs(6), return_weights=True)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    # The second row has no keys.
    np.testing.assert_array_equal(found[1], 0.0)


def test_odd_lengths_dropout_and_weights_are_not_for_kernels(calls: list[tuple[int, ...]]) -> None:
    MultiHeadAttention(AttentionConfig(num_heads=4, key_dim=2))(**inputs(5))
    MultiHeadAttention(AttentionConfig(num_heads=4, key_dim=2))(**inputs(6), return_weights=True)
    MultiHeadAttention(AttentionConfig(num_heads=4, key_dim=2, dropout=0.5))(
        **inputs(6), training=True
    )
    MultiHeadAttention(AttentionConfig(num_heads=4, key_dim=2, value_dim=3))(**inputs(6))
    assert not calls


def test_without_a_gpu_there_are_no_kernels() -> None:
    assert not fused_attention.has_kernels("bfloat16")
