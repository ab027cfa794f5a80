"""Checkpoints: whole or absent, exact, averaged as NumPy does, refused where they do not fit."""

from pathlib import Path

import keras
import numpy as np
import pytest

from keras_transformer.models import build_transformer
from keras_transformer.runs.checkpoints import (
    average_checkpoints,
    checkpoint_path,
    checkpoint_step,
    list_checkpoints,
    load_checkpoint,
    prune_checkpoints,
    save_checkpoint,
)
from keras_transformer.training.loop.compiling import compile_transformer
from keras_transformer.training.run.options import TrainPlan


@pytest.fixture
def make_model(tiny_config):
    """`make_model(seed, **fields)`: a compiled model, its optimizer's state drawn at random too."""

    def make(seed: int, **fields) -> keras.Model:
        config = tiny_config(num_encoder_layers=1, num_decoder_layers=1, **fields)
        model = compile_transformer(build_transformer(config), TrainPlan(), updates=100)
        generator = np.random.default_rng(seed)
        for variable in [*model.variables, *model.optimizer.variables]:
            if "float" in variable.dtype:
                variable.assign(generator.standard_normal(variable.shape))
            else:
                variable.assign(generator.integers(0, 2**31, variable.shape))
        return model

    return make


def state(model: keras.Model) -> list[np.ndarray]:
    return [np.array(v) for v in [*model.variables, *model.optimizer.variables]]


def test_round_trip_is_exact_with_optimizer_and_dropout_seeds(tmp_path: Path, make_model) -> None:
    model, twin = make_model(1), make_model(2)
    path = checkpoint_path(tmp_path / "checkpoints", 12)
    save_checkpoint(model, path)
    load_checkpoint(twin, path)
    for found, expected in zip(state(twin), state(model), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    with np.load(path) as saved:
        names = " ".join(saved.files)
    for part in ("seed_generator_state", "iteration", "momentum", "velocity", "gamma"):
        assert part in names


def test_names_carry_the_step(tmp_path: Path) -> None:
    path = checkpoint_path(tmp_path, 1200)
    assert path.name == "step_00001200.npz"
    assert checkpoint_step(path) == 1200
    with pytest.raises(ValueError, match="best.npz is not named like a checkpoint"):
        checkpoint_step(tmp_path / "best.npz")


def test_checkpoints_are_listed_by_step_and_strangers_left_out(tmp_path: Path) -> None:
    for name in (
        "step_00000020.npz",
        "step_00000003.npz",
        "step_3.npz",
        "partial.1.step_00000100.npz",
    ):
        (tmp_path / name).touch()
    assert [checkpoint_step(path) for path in list_checkpoints(tmp_path)] == [3, 20]
    assert list_checkpoints(tmp_path / "missing") == []


def test_pruning_keeps_the_newest_and_clears_what_a_kill_left(tmp_path: Path) -> None:
    for step in (1, 2, 3, 10):
        checkpoint_path(tmp_path, step).touch()
    (tmp_path / "partial.1.step_00000011.npz").touch()
    (tmp_path / "notes.txt").touch()
    prune_checkpoints(tmp_path, keep=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "notes.txt",
        "step_00000003.npz",
        "step_00000010.npz",
    ]


def test_pruning_keeps_the_best_besides(tmp_path: Path) -> None:
    for step in (1, 2, 3, 10):
        checkpoint_path(tmp_path, step).touch()
    prune_checkpoints(tmp_path, keep=1, also=(2, 7))
    assert [checkpoint_step(path) for path in list_checkpoints(tmp_path)] == [2, 10]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_state_that_is_not_finite_is_never_written(
    tmp_path: Path, make_model, value: float
) -> None:
    model = make_model(1)
    velocity = model.optimizer.variables[-1]
    velocity.assign(np.full(velocity.shape, value))
    with pytest.raises(FloatingPointError, match="velocity.* holds NaN or Inf: .* is not written"):
        save_checkpoint(model, checkpoint_path(tmp_path, 1))
    assert list(tmp_path.iterdir()) == []


def test_a_crash_while_writing_leaves_no_checkpoint(
    tmp_path: Path, make_model, monkeypatch
) -> None:
    model = make_model(1)
    save_checkpoint(model, checkpoint_path(tmp_path, 1))

    def half(file, **arrays) -> None:
        file.write(b"PK half of a file")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", half)
    with pytest.raises(KeyboardInterrupt):
        save_checkpoint(model, checkpoint_path(tmp_path, 2))
    with pytest.raises(KeyboardInterrupt):
        save_checkpoint(model, checkpoint_path(tmp_path, 1))
    monkeypatch.undo()
    assert list_checkpoints(tmp_path) == [checkpoint_path(tmp_path, 1)]
    load_checkpoint(make_model(2), checkpoint_path(tmp_path, 1))


def test_another_number_of_variables_is_refused(tmp_path: Path, make_model) -> None:
    path = checkpoint_path(tmp_path, 1)
    save_checkpoint(make_model(1), path)
    other = make_model(2, norm="pre")
    before = state(other)
    with pytest.raises(ValueError, match="does not fit the model: .* variables are on one side"):
        load_checkpoint(other, path)
    for found, expected in zip(state(other), before, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_another_shape_is_refused_before_anything_changes(tmp_path: Path, make_model) -> None:
    path = checkpoint_path(tmp_path, 1)
    save_checkpoint(make_model(1), path)
    other = make_model(2, feed_forward_dim=21)
    before = state(other)
    with pytest.raises(ValueError, match=r"of shape \(12, 20\), but the model's is \(12, 21\)"):
        load_checkpoint(other, path)
    for found, expected in zip(state(other), before, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_the_average_is_numpys_mean(tmp_path: Path, make_model) -> None:
    paths, weights = [], []
    for seed in (1, 2, 3):
        model = make_model(seed)
        paths.append(checkpoint_path(tmp_path, seed))
        save_checkpoint(model, paths[-1])
        weights.append(model.get_weights())
    average_checkpoints(model, paths)
    for found, *given in zip(model.get_weights(), *weights, strict=True):
        np.testing.assert_allclose(found, np.mean(given, axis=0, dtype=np.float64), rtol=1e-6)


def test_the_average_of_one_is_itself(tmp_path: Path, make_model) -> None:
    path, model = checkpoint_path(tmp_path, 1), make_model(1)
    save_checkpoint(model, path)
    twin = make_model(2)
    average_checkpoints(twin, [path])
    for found, expected in zip(twin.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_averaging_nothing_or_another_model_is_refused(tmp_path: Path, make_model) -> None:
    with pytest.raises(ValueError, match="paths must hold at least one checkpoint"):
        average_checkpoints(make_model(1), [])
    path = checkpoint_path(tmp_path, 1)
    save_checkpoint(make_model(1), path)
    with pytest.raises(ValueError, match="does not fit the model"):
        average_checkpoints(make_model(2, norm="pre"), [path])


def test_layers_made_earlier_do_not_rename_variables(tmp_path: Path, make_model) -> None:
    path = checkpoint_path(tmp_path, 1)
    save_checkpoint(make_model(1), path)
    keras.layers.Dropout(0.1)(np.ones((1, 1)), training=True)
    load_checkpoint(make_model(2), path)
