"""A run's model file is replaced only by another model."""

from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import keras
import numpy as np

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.layers.initializers import values_follow
from keras_transformer.models.families import build_model
from keras_transformer.models.files.model_file import load_model_file, save_model

CONFIG = EncoderConfig.preset(
    "bert-tiny", vocab_size=20, model_dim=8, feed_forward_dim=8, num_layers=1
)


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


def test_a_model_whose_values_follow_draws_no_random_numbers() -> None:
    with values_follow():
        model = build_model(CONFIG)
    assert not np.any(model.embeddings.tokens.matrix)
    assert not np.any(model.encoder_stack.blocks[0].feed_forward.hidden.kernel)
