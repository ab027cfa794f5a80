"""Cosines of sentence vectors with the reference's, of our artefacts and of a peer's file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from encoding import vectors
from onnx import TensorProto, helper
from onnx.numpy_helper import from_array

from keras_transformer.export import export_onnx
from keras_transformer.text.tokenizer import Tokenizer

IDS = ("input_ids", "attention_mask")


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_cosines_are_those_with_the_first_engine() -> None:
    found = {"float32": np.eye(2), "other": vectors.unit(np.array([[3.0, 4.0], [0.0, 2.0]]))}
    _, _, reference, other = vectors.table(found, {"float32": 1.0, "other": 0.5}).splitlines()
    assert cells(reference) == ["float32", "1.00000", "1.00000", "1.000"]
    assert cells(other) == ["other", "0.80000", "0.60000", "0.500"]


@pytest.fixture
def peer(tmp_path: Path) -> Path:
    """A file whose states are embeddings of one direction, its second input unread."""
    kinds = [helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "s"]) for name in IDS]
    states = helper.make_tensor_value_info("states", TensorProto.FLOAT, ["b", "s", 24])
    rows = from_array(np.ones((1000, 24), np.float32), "rows")
    nodes = [helper.make_node("Gather", ["rows", "input_ids"], ["states"])]
    graph = helper.make_graph(nodes, "peer", kinds, [states], [rows])
    path = tmp_path / "peer.onnx"
    opsets = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return path


def test_artefacts_and_a_peer_take_turns(
    small_encoder: Callable[..., Any],
    masked_tokenizer: Tokenizer,
    texts: list[str],
    tmp_path: Path,
    peer: Path,
) -> None:
    model = small_encoder()
    named = [
        export_onnx(model, masked_tokenizer, tmp_path / precision, quantize=quantize)
        for precision, quantize in (("float32", None), ("int8", "int8"))
    ]
    _, _, *rows = vectors.compare(named, peer, texts, repeats=1).splitlines()
    (name, *same), (other, mean, lowest, _), (last, *away), unsorted = map(cells, rows)
    assert (name, other, last) == ("float32", "int8", "peer")
    assert unsorted[:3] == ["peer, unsorted", *away[:2]]
    assert same[:2] == ["1.00000", "1.00000"] and 0.9 < float(lowest) <= float(mean) < 1
    assert float(away[0]) < 0.9
    with pytest.raises(ValueError, match="names of their own"):
        vectors.compare([*named, named[0]], None, texts, repeats=1)
