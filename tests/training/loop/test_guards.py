"""NaN and Inf: training ends at the batch that brought them, and its lines are named."""

from pathlib import Path

import keras
import numpy as np
import pytest

from keras_transformer.training.loop.guards import FiniteGuard


@pytest.fixture
def model() -> keras.Model:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4), keras.layers.Dense(2)])
    model.compile(optimizer="adam")
    model.optimizer.build(model.trainable_variables)
    model.optimizer.iterations.assign(6)
    return model


@pytest.fixture
def guard(model: keras.Model, tmp_path: Path) -> FiniteGuard:
    """A guard after 6 updates; the batch after n updates holds the pairs 10n + 2 and 10n."""
    guard = FiniteGuard(
        lambda n: np.array([10 * n + 2, 10 * n]), tmp_path / "bad_batch.txt", lambda: True
    )
    guard.set_model(model)
    guard.on_train_begin()
    return guard


@pytest.mark.parametrize("loss", [np.nan, np.inf, -np.inf])
def test_a_loss_that_is_not_finite_names_update_and_lines(
    guard: FiniteGuard, loss: float, tmp_path: Path
) -> None:
    guard.on_train_batch_end(0, {"batch_loss": 2.0})
    message = f"the loss of update 8 is {loss}. Its batch holds 2 training pairs, on lines 71, 73 "
    with pytest.raises(FloatingPointError, match=message):
        guard.on_train_batch_end(1, {"batch_loss": loss})
    assert (tmp_path / "bad_batch.txt").read_text() == "71\n73\n"


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("variable", range(4))
def test_an_update_that_spoils_any_weight_is_blamed_on_its_own_batch(
    guard: FiniteGuard, model: keras.Model, variable: int, value: float
) -> None:
    guard.on_train_batch_end(0, {"batch_loss": 2.0})
    weight = np.asarray(model.trainable_variables[variable]).copy()
    weight.flat[-1] = value
    model.trainable_variables[variable].assign(weight)
    message = r"update 8 left NaN or Inf in the weights, though its loss was 2\.5.* lines 71, 73 "
    with pytest.raises(FloatingPointError, match=message):
        guard.on_train_batch_end(1, {"batch_loss": 2.5})


def test_of_a_large_batch_some_lines_are_shown_and_all_are_kept(
    guard: FiniteGuard, tmp_path: Path
) -> None:
    guard.batch_lines = lambda step: np.arange(100)
    with pytest.raises(FloatingPointError, match=r"100 training pairs, on lines 1, .* 20 and 80 m"):
        guard.on_train_batch_end(0, {"batch_loss": np.nan})
    assert len((tmp_path / "bad_batch.txt").read_text().split()) == 100


def test_a_validation_loss_that_is_not_finite_ends_training(guard: FiniteGuard) -> None:
    guard.on_epoch_end(0, {"val_loss": 3.0})
    guard.on_epoch_end(0, {})
    with pytest.raises(FloatingPointError, match="validation loss after update 6 is nan"):
        guard.on_epoch_end(0, {"val_loss": np.nan})


@pytest.mark.parametrize("has_checkpoints", [True, False])
def test_checkpoints_are_called_good_where_there_are_some(
    guard: FiniteGuard, has_checkpoints: bool
) -> None:
    guard.has_checkpoints = lambda: has_checkpoints
    with pytest.raises(FloatingPointError) as error:
        guard.on_train_batch_end(0, {"batch_loss": np.nan})
    assert ("The checkpoints are from before and good" in str(error.value)) == has_checkpoints
