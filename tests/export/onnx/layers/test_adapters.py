"""Which models, targets and precisions can have adapters; runtime/onnx_graphs/test_adapters.py
compares what such graphs compute.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.export import export_onnx
from keras_transformer.text.tokenizer import Tokenizer


@pytest.mark.parametrize(
    ("fields", "options", "message"),
    [
        ({}, {"target": "native"}, "needs target='onnxruntime' and float32, got 'native'"),
        (
            {},
            {"quantize": "int8"},
            "and 'int8': leave out adapters .--adapters., or target and quantize",
        ),
        ({"norm": "post"}, {}, "normalises the inputs of its blocks"),
    ],
)
def test_what_has_no_adapters_is_refused(
    small_decoder: Callable[..., Any],
    masked_tokenizer: Tokenizer,
    tmp_path: Path,
    fields: dict[str, Any],
    options: dict[str, Any],
    message: str,
) -> None:
    model = small_decoder(**fields)
    with pytest.raises(ValueError, match=message):
        export_onnx(model, masked_tokenizer, tmp_path / "out", adapters=True, **options)


def test_encoders_have_no_adapters(
    small_encoder: Callable[..., Any], masked_tokenizer: Tokenizer, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="is for decoders alone"):
        export_onnx(small_encoder(), masked_tokenizer, tmp_path / "out", adapters=True)
