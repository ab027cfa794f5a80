"""Damaged checkpoints: named, set aside, and the ones before used; never taken for good ones."""

from pathlib import Path

import keras
import numpy as np
import pytest

from keras_transformer.runs.checkpoints import (
    DamagedCheckpointError,
    checkpoint_path,
    load_checkpoint,
    save_checkpoint,
)
from keras_transformer.runs.history import History
from keras_transformer.training.run.recovery import average_newest, restore_best, restore_newest


def make_model(value: float = 0.0) -> keras.Model:
    """A model whose every weight is `value`."""
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, name="dense")], name="model")
    model.compile(optimizer=keras.optimizers.Adam())
    model.optimizer.build(model.trainable_variables)
    model.set_weights([np.full_like(weight, value) for weight in model.get_weights()])
    return model


def value_of(model: keras.Model) -> float:
    (value,) = set(np.concatenate([weight.ravel() for weight in model.get_weights()]))
    return float(value)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Checkpoints after 1, 2, 3 and 4 updates; all weights are the step."""
    for step in (1, 2, 3, 4):
        save_checkpoint(make_model(step), checkpoint_path(tmp_path, step))
    return tmp_path


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 4
    path.write_bytes(content)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.mark.parametrize("damage", [cut_short, flip_a_bit, empty])
def test_a_damaged_newest_checkpoint_falls_back_with_a_warning(directory: Path, damage) -> None:
    damage(checkpoint_path(directory, 4))
    model = make_model()
    with pytest.warns(RuntimeWarning, match=r"step_00000004.npz is damaged: .* from step_00000003"):
        assert restore_newest(model, directory) == 3
    assert value_of(model) == 3
    assert names(directory)[-1] == "step_00000004.npz.damaged"
    assert restore_newest(model, directory) == 3


def test_whole_checkpoints_are_taken_without_a_word(directory: Path) -> None:
    model = make_model()
    assert restore_newest(model, directory) == 4
    assert value_of(model) == 4
    assert restore_newest(model, directory / "none") == 0


def test_where_all_are_damaged_nothing_is_changed_and_each_is_named(directory: Path) -> None:
    for step in (1, 2, 3, 4):
        empty(checkpoint_path(directory, step))
    before, model = names(directory), make_model(7)
    for use in (restore_newest, lambda *given: average_newest(*given, 2)):
        with pytest.raises(DamagedCheckpointError, match="no checkpoint .*_4.*|.*another dir") as e:
            use(model, directory)
        assert all(f"step_0000000{step}.npz is damaged" in str(e.value) for step in (1, 2, 3, 4))
    assert (names(directory), value_of(model)) == (before, 7)


def test_the_mean_is_of_the_newest_whole_ones(directory: Path) -> None:
    flip_a_bit(checkpoint_path(directory, 3))
    model = make_model()
    with pytest.warns(RuntimeWarning, match="step_00000003.npz is damaged"):
        used = average_newest(model, directory, 2)
    assert [path.name for path in used] == ["step_00000002.npz", "step_00000004.npz"]
    assert value_of(model) == 3
    assert len(average_newest(model, directory, 9)) == 3


def test_the_best_is_chosen_by_validation_loss_among_the_whole(directory: Path) -> None:
    history = History()
    for step, loss in {1: 3.0, 2: 1.0, 3: 2.0, 5: 0.5}.items():
        history.append(step, {"val_loss": loss})
    model = make_model()
    assert restore_best(model, directory, history).name == "step_00000002.npz"
    assert value_of(model) == 2
    cut_short(checkpoint_path(directory, 2))
    with pytest.warns(RuntimeWarning, match=r"step_00000002.* next best, step_00000003.npz"):
        restore_best(model, directory, history)
    assert value_of(model) == 3


def test_no_flipped_bit_is_ever_loaded(tmp_path: Path) -> None:
    path, model = checkpoint_path(tmp_path, 1), make_model()
    save_checkpoint(make_model(1.5), path)
    content = path.read_bytes()
    for bit in np.random.default_rng(0).integers(0, 8 * len(content), 200):
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        with pytest.raises(DamagedCheckpointError, match="is damaged"):
            load_checkpoint(model, path)
    assert value_of(model) == 0


def test_no_shortened_file_is_ever_loaded(tmp_path: Path) -> None:
    path, model = checkpoint_path(tmp_path, 1), make_model()
    save_checkpoint(make_model(1.5), path)
    content = path.read_bytes()
    for length in np.random.default_rng(0).integers(0, len(content), 40):
        path.write_bytes(content[:length])
        with pytest.raises(DamagedCheckpointError, match="is damaged"):
            load_checkpoint(model, path)
