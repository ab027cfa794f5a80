"""Sentence vectors of an encoder in int8 whose weights have outliers, as real ones do."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.export import export_onnx
from keras_transformer.runtime.encoder import OnnxEncoder
from keras_transformer.text.tokenizer import Tokenizer

# Wide enough that every layer multiplies bytes.
SIZES = {"model_dim": 384, "feed_forward_dim": 1024, "num_heads": 8, "head": "embedding"}


@pytest.fixture(scope="module")
def with_outliers(small_encoder: Callable[..., Any], randomize: Callable[..., Any]) -> Any:
    """A feature of states is ten times as large as others, weights of two units 30 times."""
    model = randomize(small_encoder(**SIZES), scale=0.05)
    for weight in model.weights:
        values = weight.numpy()
        if weight.name == "gamma":
            values[7] *= 10
        elif values.shape == (1024, 384):
            values[[5, 600]] *= np.where(np.arange(384) % 3, 30, 1)
        weight.assign(values)
    return model


@pytest.fixture(scope="module")
def lowest_cosine(
    with_outliers: Any,
    masked_tokenizer: Tokenizer,
    texts: Sequence[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str], float]:
    folder: Path = tmp_path_factory.mktemp("vectors")

    def embedded(target: str, quantize: str | None) -> np.ndarray:
        path = folder / f"{target}_{quantize}"
        export_onnx(with_outliers, masked_tokenizer, path, target=target, quantize=quantize)
        found = np.asarray(OnnxEncoder(path, threads=1).embed(texts))
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    exact = embedded("native", None)
    return lambda target: float((embedded(target, "int8") * exact).sum(axis=1).min())


def test_outliers_cost_our_operators_less_than_a_thousandth(
    lowest_cosine: Callable[[str], float],
) -> None:
    lost = 1 - lowest_cosine("native")
    assert lost <= 0.001
    # There inputs are rounded without an offset, and outliers are in the same bytes as the others.
    assert lost < 0.2 * (1 - lowest_cosine("onnxruntime"))
