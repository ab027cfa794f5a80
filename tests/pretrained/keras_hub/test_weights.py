"""Keras's files of weights: shards and bfloat16 are read, and damage is named."""

import json
from pathlib import Path

import h5py
import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.keras_hub.weights import open_weights, write_weights

ARRAYS = {
    "layers/dense/vars/0": np.arange(6, dtype=np.float32).reshape(2, 3),
    "layers/dense/vars/1": np.ones(3, np.float32),
}


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_weights(tmp_path / "model.weights.h5", ARRAYS)
    found = open_weights(tmp_path / "model.weights.h5")
    assert found.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[name](), array)


def test_shards_are_read_as_one_file(tmp_path: Path) -> None:
    names = [f"model_0000{number}.weights.h5" for number in (0, 1)]
    for name, (path, array) in zip(names, ARRAYS.items(), strict=True):
        write_weights(tmp_path / name, {path: array})
    index = {"metadata": {}, "weight_map": {"/layers/dense/vars": names}}
    (tmp_path / "model.weights.json").write_text(json.dumps(index))
    found = open_weights(tmp_path / "model.weights.h5")
    assert {name: read().tolist() for name, read in found.items()} == {
        name: array.tolist() for name, array in ARRAYS.items()
    }
    (tmp_path / names[1]).unlink()
    with pytest.raises(ImportRefusedError, match=names[1]):
        open_weights(tmp_path / "model.weights.h5")


def test_bfloat16_is_read_as_keras_saves_it(tmp_path: Path) -> None:
    array = np.array([1.5, -0.25], ml_dtypes.bfloat16)
    with h5py.File(tmp_path / "model.weights.h5", "w") as file:
        file.create_dataset("vars/0", data=array).attrs["dtype"] = "bfloat16"
    [read] = open_weights(tmp_path / "model.weights.h5").values()
    np.testing.assert_array_equal(read().astype(np.float32), [1.5, -0.25])


def test_integers_are_refused_as_quantized(tmp_path: Path) -> None:
    write_weights(tmp_path / "model.weights.h5", {"vars/0": np.ones(3, np.int8)})
    [read] = open_weights(tmp_path / "model.weights.h5").values()
    with pytest.raises(ImportRefusedError, match=r"vars/0 has the type int8: .* quantized"):
        read()


def test_one_number_is_refused(tmp_path: Path) -> None:
    write_weights(tmp_path / "model.weights.h5", {"vars/0": np.float32(1)})
    [read] = open_weights(tmp_path / "model.weights.h5").values()
    with pytest.raises(ImportRefusedError, match=r"vars/0 cannot be read: it is one number"):
        read()


def test_numbers_that_are_not_in_the_file_are_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "model.weights.h5", "w") as file:
        file.create_dataset("vars/0", (1 << 20, 1 << 20), "f4", chunks=True)
    [read] = open_weights(tmp_path / "model.weights.h5").values()
    with pytest.raises(ImportRefusedError, match=r"vars/0 cannot be read: its numbers are not"):
        read()


@given(place=st.integers(0, 4_000), new=st.binary(min_size=1, max_size=9))
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_changed_bytes_are_refused_with_the_file_or_give_other_numbers(
    place: int, new: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "model.weights.h5"
    write_weights(path, ARRAYS)
    content = path.read_bytes()
    path.write_bytes(content[:place] + new + content[place + len(new) :])
    try:
        for read in open_weights(path).values():
            read()
    except ImportRefusedError as error:
        assert str(path) in str(error)
