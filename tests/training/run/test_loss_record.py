"""The record of losses: a line an update on disk at once, cut back where a run goes on."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from keras_transformer.training.run.loss_record import LossRecord, read_losses


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "losses.tsv"


@pytest.fixture
def train(path: Path) -> Iterator[Callable[[int, list[float]], LossRecord]]:
    """`train(done, losses)` records updates after `done`; the file stays open, as at a kill."""
    records: list[LossRecord] = []

    def record_losses(done: int, losses: list[float]) -> LossRecord:
        record = LossRecord(path)
        records.append(record)
        record.set_model(SimpleNamespace(optimizer=SimpleNamespace(iterations=done)))
        record.on_train_begin()
        for loss in losses:
            logs = {"loss": 0.0, "batch_loss": loss}
            record.on_train_batch_end(0, logs)
            assert logs == {"loss": 0.0}
        return record

    yield record_losses
    for record in records:
        record.close()


def test_every_line_is_on_disk_without_closing(path: Path, train) -> None:
    record = train(0, [2.5, 1.25])
    assert path.read_text() == "update\tloss\n1\t2.5\n2\t1.25\n"
    record.close()
    record.close()


def test_losses_come_back_to_the_last_bit_of_float32(path: Path, train) -> None:
    losses = np.random.default_rng(0).lognormal(size=50).astype(np.float32)
    train(0, [float(loss) for loss in losses])
    np.testing.assert_array_equal(np.float32(list(read_losses(path).values())), losses)


def test_going_on_drops_what_is_made_again_and_a_line_cut_short(path: Path, train) -> None:
    train(0, [5.0, 4.0, 3.0])
    with path.open("a") as file:
        file.write("4\t2.")
    assert read_losses(path) == {1: 5.0, 2: 4.0, 3: 3.0}
    train(2, [3.5])
    assert read_losses(path) == {1: 5.0, 2: 4.0, 3: 3.5}


def test_nan_is_recorded_too(path: Path, train) -> None:
    train(0, [float("nan")])
    assert np.isnan(read_losses(path)[1])


def test_the_newest_batch_stays_out_of_the_figures_of_a_round(path: Path) -> None:
    logs = {"loss": 1.0, "batch_loss": 2.0, "val_loss": 1.5, "val_batch_loss": 3.0}
    LossRecord(path).on_epoch_end(0, logs)
    assert logs == {"loss": 1.0, "val_loss": 1.5}


def test_a_missing_file_holds_no_losses(path: Path) -> None:
    assert read_losses(path) == {}
