"""Files of weights: each kind gives its tensors; a damaged or hostile one is refused by name."""

import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from safetensors.numpy import save_file

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.tensor_files import open_huggingface, open_npz, open_tensorflow

ARRAYS = {"one": np.arange(6, dtype=np.float32).reshape(2, 3), "two": np.ones(4, np.float16)}


def test_safetensors_give_their_tensors(tmp_path: Path) -> None:
    save_file(ARRAYS, tmp_path / "model.safetensors")
    found = open_huggingface(tmp_path)
    assert sorted(found) == ["one", "two"]
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[name], array)


def test_shards_are_read_by_their_index(tmp_path: Path) -> None:
    for number, (name, array) in enumerate(ARRAYS.items()):
        save_file({name: array}, tmp_path / f"part{number}.safetensors")
    places = {"one": "part0.safetensors", "two": "part1.safetensors"}
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": places}))
    np.testing.assert_array_equal(open_huggingface(tmp_path)["two"], ARRAYS["two"])
    (tmp_path / "part1.safetensors").unlink()
    with pytest.raises(ImportRefusedError, match=r"names part1.safetensors, which is missing"):
        open_huggingface(tmp_path)


def test_a_shard_outside_the_directory_is_never_opened(tmp_path: Path) -> None:
    save_file(ARRAYS, tmp_path / "secret.safetensors")
    inner = tmp_path / "model"
    inner.mkdir()
    places = {"one": "../secret.safetensors"}
    (inner / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    with pytest.raises(ImportRefusedError, match="which is missing beside it"):
        open_huggingface(inner)


@pytest.mark.parametrize("kept", [0, 4, 60])
def test_a_truncated_safetensors_file_is_refused(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "model.safetensors"
    save_file(ARRAYS, path)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ImportRefusedError, match=r"model.safetensors is no whole safetensors file"):
        open_huggingface(tmp_path)


def test_npz_gives_its_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "model.npz", **ARRAYS)
    found = open_npz(tmp_path / "model.npz")
    np.testing.assert_array_equal(found["one"], ARRAYS["one"])
    assert found.origin.endswith("model.npz")


def test_a_truncated_npz_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    np.savez(path, **ARRAYS)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(ImportRefusedError, match=r"model.npz is no whole .npz file"):
        open_npz(path)


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return Path.touch, (self.path,)


def test_code_in_an_npz_is_never_run(tmp_path: Path) -> None:
    np.savez(tmp_path / "model.npz", one=np.array([Bomb(tmp_path / "ran")], dtype=object))
    with pytest.raises(ImportRefusedError, match="one cannot be read"):
        open_npz(tmp_path / "model.npz")["one"]
    assert not (tmp_path / "ran").exists()


def test_code_in_a_pickle_is_never_run(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "pytorch_model.bin", "w") as file:
        file.writestr("model/data.pkl", pickle.dumps({"one": Bomb(tmp_path / "ran")}))
        file.writestr("model/version", "3")
    with pytest.raises(ImportRefusedError, match=r"pytorch_model.bin holds more than weights"):
        open_huggingface(tmp_path)
    assert not (tmp_path / "ran").exists()


def test_a_tensorflow_checkpoint_gives_its_variables(tmp_path: Path) -> None:
    checkpoint = tf.train.Checkpoint(one=tf.Variable(ARRAYS["one"]))
    prefix = Path(checkpoint.write(str(tmp_path / "model")))
    found = open_tensorflow(prefix)
    name = next(name for name in found if name.startswith("one"))
    np.testing.assert_array_equal(found[name], ARRAYS["one"])
    with pytest.raises(ImportRefusedError, match="other is no TensorFlow checkpoint"):
        open_tensorflow(tmp_path / "other")


def test_a_directory_without_weights_says_what_is_supported(tmp_path: Path) -> None:
    with pytest.raises(ImportRefusedError, match=r"has no weights: model.safetensors or"):
        open_huggingface(tmp_path)
