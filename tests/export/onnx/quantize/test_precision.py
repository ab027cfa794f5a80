"""Weights in float16 are half as large as in float32, whatever the family."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from onnx.numpy_helper import to_array

from keras_transformer.export import export_onnx
from keras_transformer.export.onnx.quantize.precision import Float16
from keras_transformer.text.tokenizer import Tokenizer

WIDER = {"model_dim": 64, "feed_forward_dim": 256}
FAMILIES = ["translator", "generator", "encoder"]
Make = Callable[[str], Any]


@pytest.fixture
def make(
    make_model: Callable[..., Any],
    small_decoder: Callable[..., Any],
    small_encoder: Callable[..., Any],
) -> Make:
    by_family = dict(zip(FAMILIES, (make_model, small_decoder, small_encoder), strict=True))
    return lambda family: by_family[family](**WIDER)


@pytest.mark.parametrize(
    ("family", "graph"),
    [
        pytest.param("translator", "scorer", marks=pytest.mark.exhaustive),
        pytest.param("generator", "scorer", marks=pytest.mark.exhaustive),
        ("encoder", "encoder"),
    ],
)
def test_a_graph_holds_its_weights_in_float16(family: str, graph: str, make: Make) -> None:
    weights = map(to_array, Float16().graph(graph, make(family), 18).graph.initializer)
    sizes = [(one.nbytes, one.size * 4) for one in weights if one.size > 256]
    half, single = map(sum, zip(*sizes, strict=True))
    assert half <= 0.55 * single


@pytest.mark.exhaustive
@pytest.mark.parametrize("family", FAMILIES)
def test_an_artefact_in_float16_is_half_as_large(
    family: str,
    make: Make,
    tokenizer: Tokenizer,
    masked_tokenizer: Tokenizer,
    tmp_path: Path,
) -> None:
    model, own = make(family), tokenizer if family == "translator" else masked_tokenizer
    single, half = (
        export_onnx(model, own, tmp_path / target, target=target, quantize=quantize)
        for target, quantize in (("onnxruntime", None), ("portable", "float16"))
    )
    sizes = [(path / "weights.bin").stat().st_size for path in (single, half)]
    assert sizes[1] <= 0.55 * sizes[0]
