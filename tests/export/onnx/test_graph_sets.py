"""The graphs of an artefact of two targets."""

from collections.abc import Callable
from typing import Any

import pytest

from keras_transformer.export.onnx.form import Form
from keras_transformer.export.onnx.graph_sets import graph_sets


@pytest.mark.parametrize(
    ("precision", "has_shortlist", "once"),
    [
        ("float32", False, set()),
        ("float32", True, {"shortlist"}),
        ("int8_batch_dependent", False, set()),
        ("int8", False, set()),
        ("int8", True, {"shortlist"}),
        ("int4", False, set()),
    ],
)
def test_what_is_alike_for_both_targets_is_written_once(
    tiny_config: Callable[..., Any], precision: str, has_shortlist: bool, once: set[str]
) -> None:
    form = Form("onnxruntime", precision, opset=18, has_native=True)
    standard, native = graph_sets(tiny_config(), form, has_shortlist=has_shortlist)
    assert set(standard.specs) - set(native.specs) == once
