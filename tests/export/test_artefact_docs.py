"""docs/onnx_artefact.md: names and numbers are those of the code."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from keras_transformer.runtime.loop.constraints import SPARE
from keras_transformer.search.options import SearchOptions

DOCS = Path(__file__).resolve().parents[2] / "docs"
TEXT = " ".join(DOCS.joinpath("onnx_artefact.md").read_text("utf-8").split())


def test_the_command_prints_the_librarys_path() -> None:
    [command] = re.findall(r"```bash (python .*?) ```", TEXT)
    _, *arguments = shlex.split(command)
    result = subprocess.run([sys.executable, *arguments], capture_output=True, text=True)
    if "ImportError" in result.stderr and "compiled" in result.stderr:
        pytest.skip("the operators are not compiled here")
    assert result.returncode == 0, result.stderr
    [name] = re.findall(r"of that module as `([^`]*)`", TEXT)
    found = Path(result.stdout.strip())
    assert found.is_file() and found.name == name


def test_the_limit_and_the_candidates_are_the_translators() -> None:
    assert f"ends a translation at {SearchOptions().max_length} tokens" in TEXT
    assert f"ask for 2W + {SPARE}:" in TEXT


@pytest.mark.parametrize(("wanted", "found"), [(5, 5), (1000, 2 * 60)])
def test_a_step_returns_the_candidates_asked_for_or_all(
    exported: Any, wanted: int, found: int
) -> None:
    encoder, decoder = (
        onnxruntime.InferenceSession(exported.path / f"{name}.onnx")
        for name in ("encoder", "decoder")
    )
    source = np.array([[5, 6, 7]], np.int32)
    names = [output.name for output in encoder.get_outputs()]
    feeds = dict(zip(names, encoder.run(None, {"source_ids": source}), strict=True))
    feeds |= {
        "target_ids": np.array([5, 6], np.int32),
        "step": np.zeros(1, np.int32),
        "beam_size": np.array([2], np.int32),
        "num_candidates": np.array([wanted], np.int64),
        "totals": np.zeros((1, 2), np.float32),
        "source_mask": np.ones_like(source),
        "cache_beams": np.zeros((1, 2, 4), np.int32),
    }
    inputs = {value.name: value.shape for value in decoder.get_inputs()}
    for name, shape in inputs.items():
        if name.startswith("cache_") and name not in feeds:
            feeds[name] = np.zeros((2, shape[1], 4, shape[3]), np.float32)
    [ids] = decoder.run(["candidate_ids"], {name: feeds[name] for name in inputs})
    assert ids.shape == (1, found)


def test_graphs_look_for_their_weights_in_the_one_file(exported: Any) -> None:
    [limit] = re.findall(r"but for tensors of less than ([\d,]+) bytes", TEXT)
    for path in exported.path.glob("*.onnx"):
        for tensor in onnx.load(path, load_external_data=False).graph.initializer:
            places = {entry.key: entry.value for entry in tensor.external_data}
            assert places.get("location", "weights.bin") == "weights.bin"
            assert len(tensor.raw_data) < int(limit.replace(",", ""))
