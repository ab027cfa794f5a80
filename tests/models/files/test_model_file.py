"""A run's model file is replaced only by another model."""

import zipfile
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import keras
import numpy as np
import pytest

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.layers.initializers import values_follow
from keras_transformer.models.families import build_model
from keras_transformer.models.files.model_file import load_model_file, save_model

CONFIG = EncoderConfig.preset(
    "bert-tiny", vocab_size=20, model_dim=8, feed_forward_dim=8, num_layers=1
)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model's file."""
    path = tmp_path_factory.mktemp("saved") / "model.keras"
    save_model(build_model(CONFIG), path)
    return path


def test_the_same_model_leaves_the_file_as_it_is(tmp_path: Path, monkeypatch) -> None:
    model, path = build_model(CONFIG), tmp_path / "model.keras"
    save_model(model, path)
    before = path.read_bytes()
    again = keras.saving.load_model(path)
    # The file has the time of its making.
    clock = SimpleNamespace(datetime=SimpleNamespace(now=lambda: datetime(2001, 2, 3)))
    monkeypatch.setattr("keras.src.saving.saving_lib.datetime", clock)
    again.save(other := tmp_path / "other.keras")
    assert other.read_bytes() != before
    save_model(again, path)
    assert path.read_bytes() == before


def test_another_model_takes_its_place(tmp_path: Path) -> None:
    model, path = build_model(CONFIG), tmp_path / "model.keras"
    save_model(model, path)
    model.weights[0].assign(model.weights[0] + 1)
    save_model(model, path)
    found = keras.saving.load_model(path)
    np.testing.assert_array_equal(found.weights[0], model.weights[0])


def test_a_damaged_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "model.keras"
    path.write_bytes(b"no model")
    save_model(build_model(CONFIG), path)
    assert keras.saving.load_model(path).config == CONFIG


def test_a_loaded_model_has_the_files_weights_and_later_ones_begin_at_random(
    tmp_path: Path,
) -> None:
    model, path = build_model(CONFIG), tmp_path / "model.keras"
    save_model(model, path)
    loaded, built = load_model_file(path), build_model(CONFIG)
    for found, saved, drawn in zip(loaded.weights, model.weights, built.weights, strict=True):
        np.testing.assert_array_equal(found, saved)
        assert np.any(drawn) == np.any(saved), drawn.path


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def write(path: Path, contents: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as file:
        for name, content in contents.items():
            file.writestr(name, content)


@pytest.mark.parametrize("name", ["config.json", "model.weights.h5"])
@pytest.mark.parametrize("damage", ["a changed byte", "missing", "empty", "cut", "zeros"])
def test_a_damaged_file_is_named(name: str, damage: str, saved: Path, tmp_path: Path) -> None:
    path, contents = tmp_path / "model.keras", members(saved)
    if damage == "a changed byte":
        whole = saved.read_bytes()
        place = whole.index(contents[name]) + len(contents[name]) // 2
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
    else:
        content = contents.pop(name)
        left = {"empty": b"", "cut": content[: len(content) // 2], "zeros": bytes(len(content))}
        write(path, contents if damage == "missing" else {**contents, name: left[damage]})
    with pytest.raises(ValueError, match=r"model\.keras is damaged or cut short: copy it again"):
        load_model_file(path)


def test_what_a_whole_file_is_refused_for_keeps_its_words(saved: Path, tmp_path: Path) -> None:
    path, contents = tmp_path / "model.keras", members(saved)
    config = contents["config.json"].replace(b'"num_layers": 1', b'"num_layers": 0')
    write(path, {**contents, "config.json": config})
    with pytest.raises(ValueError, match=r"model\.keras cannot be loaded: .*num_layers must be"):
        load_model_file(path)


def test_a_missing_file_is_called_missing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"File not found: .*model\.keras"):
        load_model_file(tmp_path / "model.keras")


def test_a_model_whose_values_follow_draws_no_random_numbers() -> None:
    with values_follow():
        model = build_model(CONFIG)
    assert not np.any(model.embeddings.tokens.matrix)
    assert not np.any(model.encoder_stack.blocks[0].feed_forward.hidden.kernel)
