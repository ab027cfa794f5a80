"""Weights of GPTQ and AWQ: what their libraries multiply by; others are refused by name."""

import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.formats.packed_weights import unpack_weights
from keras_transformer.pretrained.recognise import read_pretrained
from keras_transformer.pretrained.tensor_files import Tensors
from keras_transformer.pretrained.values import FileValues

FIXTURES = Path(__file__).parents[2] / "fixtures"
GPTQ, AWQ = {"quant_method": "gptq", "bits": 4}, {"quant_method": "awq", "version": "GEMM"}
CONFIGS = {"gptq4": GPTQ, "gptq8": {**GPTQ, "bits": 8}, "awq": AWQ}


@pytest.fixture(scope="module")
def theirs() -> dict[str, np.ndarray]:
    return dict(np.load(FIXTURES / "packed_weights.npz"))


def unpacked(arrays: dict[str, np.ndarray], config: dict[str, Any]) -> Tensors:
    readers = {name: partial(arrays.__getitem__, name) for name in arrays}
    found, _ = unpack_weights(Tensors(readers, "weights"), FileValues("config.json", config))
    return found


@pytest.mark.parametrize("name", CONFIGS)
def test_weights_are_those_that_their_libraries_multiply_by(
    name: str, theirs: dict[str, np.ndarray]
) -> None:
    parts = {one: array for one, array in theirs.items() if one.startswith(name)}
    expected = parts.pop(f"{name}.weight")
    found = unpacked(parts, CONFIGS[name])
    assert list(found) == [f"{name}.weight"]
    np.testing.assert_array_equal(found[f"{name}.weight"], expected)


def test_the_second_form_has_zero_points_as_they_are(theirs: dict[str, np.ndarray]) -> None:
    parts = {one: array for one, array in theirs.items() if one.startswith("gptq4")}
    expected = parts.pop("gptq4.weight")
    parts["gptq4.qzeros"] = parts["gptq4.qzeros"] + np.int32(0x11111111)
    found = unpacked(parts, {**GPTQ, "checkpoint_format": "gptq_v2"})
    np.testing.assert_array_equal(found["gptq4.weight"], expected)


def packed_llama(path: Path) -> dict[str, np.ndarray]:
    """Writes a Llama whose blocks have 4 bits and biases of zeros; returns its weights."""
    shutil.copytree(FIXTURES / "stacks" / "llama", path)
    weights = load_file(path / "model.safetensors")
    stored, shifts = dict(weights), 4 * np.arange(8, dtype=np.uint32)
    for name in [one for one in weights if one.endswith("_proj.weight")]:
        layer, lines = name.removesuffix(".weight"), stored.pop(name).T
        scales = (np.abs(lines).max(axis=0, keepdims=True) / 7).astype(np.float16)
        steps = np.clip(np.rint(lines / scales), -8, 7)
        weights[name] = (steps * scales.astype(np.float32)).T.astype(np.float32)
        parts = (steps + 8).astype(np.uint32).reshape(-1, 8, lines.shape[1])
        words = (parts << shifts[:, None]).sum(axis=1).astype(np.uint32)
        stored[f"{layer}.qweight"] = np.ascontiguousarray(words).view(np.int32)
        stored[f"{layer}.qzeros"] = np.full((1, lines.shape[1] // 8), 0x77777777, np.int32)
        stored[f"{layer}.scales"] = scales
        stored[f"{layer}.g_idx"] = np.zeros(len(lines), np.int32)
        stored[f"{layer}.bias"] = np.zeros(lines.shape[1], np.float16)
    save_file(stored, path / "model.safetensors")
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**config, "quantization_config": GPTQ}))
    return weights


def test_a_directory_gives_a_model_of_these_weights(tmp_path: Path) -> None:
    expected = packed_llama(tmp_path / "llama")
    found = read_pretrained(tmp_path / "llama")
    model = found.build()
    for entry in found.table(model):
        if entry.name:
            np.testing.assert_array_equal(entry.weight, entry.read(expected[entry.name]))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"quant_method": "fp8"}, r"quant_method: 'fp8', and only weights of gptq and awq"),
        ({**GPTQ, "bits": 3}, r"3 bits in the form 'gptq'; of gptq, only 4 and 8 bits"),
        ({**AWQ, "version": "gemv"}, r"4 bits in the form 'gemv'; of awq, only 4 bits"),
        ({**GPTQ, "dynamic": {"a": {"bits": 8}}}, r"has dynamic: .* the same number of bits"),
    ],
)
def test_other_kinds_are_refused_by_name(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ImportRefusedError, match=message):
        unpacked({}, values)


SHAPES = st.lists(st.integers(0, 9), max_size=3).map(tuple)
KINDS = st.sampled_from((np.int32, np.int64, np.float16))


@given(name=st.sampled_from(sorted(CONFIGS)), data=st.data())
@settings(max_examples=60, deadline=None)
def test_parts_of_other_shapes_are_refused(name: str, data: st.DataObject) -> None:
    parts = {
        f"layer.{part}": np.full(data.draw(SHAPES), data.draw(st.integers(-9, 9)), data.draw(KINDS))
        for part in ("qweight", "qzeros", "scales", "g_idx")
    }
    try:
        found = unpacked(parts, CONFIGS[name])["layer.weight"]
    except ImportRefusedError as error:
        assert "weights: the packed weight layer cannot be read" in str(error)
    else:
        assert found.ndim == 2
