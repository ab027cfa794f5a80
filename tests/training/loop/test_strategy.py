"""Several replicas make one run: shares of batches, and runs on two devices and two processes that
equal the run on one device, one of them with a worker killed.
"""

import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from few_updates import without_graphs

from keras_transformer.cli import main
from keras_transformer.data.batching.batches import batches_per_epoch, evaluation_batches
from keras_transformer.data.encoding.encode import EncodedPairs
from keras_transformer.runs.checkpoints import list_checkpoints
from keras_transformer.runs.finished_run import load_run
from keras_transformer.training.loop.strategy import Replicas, open_replicas, rows_of, share_rows
from keras_transformer.training.run.loss_record import read_losses
from keras_transformer.training.run.options import TrainOptions

STEPS = 4
# Pairs of very different lengths in small batches: some hold a single row, which one replica takes.
WORDS = ("ab", "ba", "cad", "dac", "bed", "deb")
LINES = [" ".join([WORDS[index % 6], *WORDS[: index % 7]] * (1 + index % 3)) for index in range(60)]
ARGUMENTS = [
    *("--data", "files", "--train-source", "train.s", "--train-target", "train.t"),
    *("--valid-source", "valid.s", "--valid-target", "valid.t", "--vocab-size", "16"),
    *("--model.model-dim", "8", "--model.feed-forward-dim", "12", "--model.num-heads", "2"),
    *("--model.num-encoder-layers", "1", "--model.num-decoder-layers", "1"),
    *("--model.dropout", "0", "--batch-tokens", "64", "--warmup-steps", "4"),
    # Replicas do not compare it with the best.
    *("--final-model", "average"),
    *("--learning-rate", "0.01", "--seed", "5", "--clip-norm", "0.3", "--bleu-sentences", "0"),
    # Gradients that are zero but for rounding, such as those of key biases, move nothing.
    *("--epsilon", "1e-5", "--r-drop", "0"),
    # Rounded factors would make of the last bit of a gradient the third digit of another.
    *("--products", "float32"),
    # It leaves embeddings, norms and biases to Adam, so that both optimizers are compared.
    *("--optimizer", "muon"),
]
ROUNDS = ["--max-steps", str(STEPS), "--checkpoint-steps", "2", "--average-checkpoints", "2"]
# A process with two logical CPUs trains on both.
MIRRORED = """
import functools
import sys
import tensorflow as tf
from tensorflow.python.framework import ops

# As in the tests' process: optimizing graphs takes longer than running these.
ops._create_c_op = functools.partial(ops._create_c_op, extract_traceback=False)
tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
from keras_transformer.cli.commands.train import main
from keras_transformer.training.loop.strategy import open_replicas

assert open_replicas("mirrored").count == 2
main([*sys.argv[1:], "--output", "mirrored", "--strategy", "mirrored"])
"""


@dataclasses.dataclass(frozen=True)
class Figures:
    """What a run leaves behind."""

    losses: dict[int, float]
    valid_losses: list[float]
    state: dict[str, np.ndarray]
    model: list[np.ndarray]


def figures(run: Path) -> Figures:
    newest = list_checkpoints(run / "checkpoints")[-1]
    with np.load(newest) as state:
        arrays = dict(state)
    record = json.loads((run / "training.json").read_text())
    assert record["finished"]
    return Figures(
        read_losses(run / "losses.tsv"),
        record["history"]["val_loss"],
        arrays,
        load_run(run)[0].get_weights(),
    )


def assert_equal_runs(found: Figures, expected: Figures, steps: int = STEPS) -> None:
    assert list(found.losses) == list(expected.losses) == list(range(1, steps + 1))
    for step, loss in expected.losses.items():
        assert found.losses[step] == pytest.approx(loss, abs=1e-5), step
    assert found.valid_losses == pytest.approx(expected.valid_losses, abs=1e-5)
    for name, array in expected.state.items():
        np.testing.assert_allclose(found.state[name], array, atol=1e-5, err_msg=name)
    for one, other in zip(found.model, expected.model, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Where the text is and the runs go."""
    path = tmp_path
    for name, lines in (("train", LINES[:48]), ("valid", LINES[48:])):
        (path / f"{name}.s").write_text("".join(f"{line}\n" for line in lines))
        reverse = [" ".join(word[::-1] for word in line.split()[::2]) for line in lines]
        (path / f"{name}.t").write_text("".join(f"{line}\n" for line in reverse))
    return path


def on_one_device(directory: Path, rounds: list[str]) -> Figures:
    """Makes the run `single` in a directory, without graphs."""
    with pytest.MonkeyPatch.context() as patch, without_graphs():
        patch.chdir(directory)
        assert main(["train", *ARGUMENTS, *rounds, "--output", "single"]) == 0
    return figures(directory / "single")


@pytest.mark.parametrize(
    "saving",
    [
        pytest.param([], id="plain"),
        # What saves memory changes no figure either; nor does R-Drop where nothing is dropped.
        pytest.param(
            ["--micro-batches", "2", "--recompute", "--r-drop", "5"],
            marks=pytest.mark.exhaustive,
            id="saving memory",
        ),
    ],
)
def test_two_devices_train_as_one_does(directory: Path, saving: list[str]) -> None:
    command = [sys.executable, "-c", MIRRORED, *ARGUMENTS, *ROUNDS, *saving]
    subprocess.run(command, cwd=directory, check=True, timeout=600)
    assert_equal_runs(figures(directory / "mirrored"), on_one_device(directory, ROUNDS))


LONGER = ["--max-steps", "12", "--checkpoint-steps", "6", "--average-checkpoints", "2"]


class Cluster:
    """Two workers of one run, each a process of the command line on this machine."""

    def __init__(self, directory: Path, output: str) -> None:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            second.bind(("127.0.0.1", 0))
            addresses = [f"127.0.0.1:{free.getsockname()[1]}" for free in (first, second)]
        self.errors = [directory / f"worker_{worker}.err" for worker in range(2)]
        self.workers = [
            self._start(worker, directory, output, addresses, errors)
            for worker, errors in enumerate(self.errors)
        ]

    def _start(
        self, worker: int, directory: Path, output: str, addresses: list[str], errors: Path
    ) -> subprocess.Popen:
        cluster = {"worker": addresses}
        config = {"cluster": cluster, "task": {"type": "worker", "index": worker}}
        command = [sys.executable, "-m", "keras_transformer", "train", *ARGUMENTS, *LONGER]
        with errors.open("wb") as file:
            return subprocess.Popen(
                [*command, "--output", output, "--strategy", "multi-worker", "--resume"],
                cwd=directory,
                env={**os.environ, "TF_CONFIG": json.dumps(config)},
                stderr=file,
            )

    def wait(self) -> list[int]:
        return [worker.wait(timeout=600) for worker in self.workers]

    def output(self) -> str:
        return "\n".join(path.read_text(errors="replace")[-3000:] for path in self.errors)


@pytest.mark.exhaustive
def test_a_cluster_that_lost_a_worker_goes_on_from_the_last_checkpoint(directory: Path) -> None:
    run = directory / "cluster"
    cluster = Cluster(directory, "cluster")
    while len(read_losses(run / "losses.tsv")) < 8:
        assert [worker.poll() for worker in cluster.workers] == [None, None], cluster.output()
        time.sleep(0.005)
    cluster.workers[1].kill()
    assert cluster.wait() == [1, -signal.SIGKILL], cluster.output()
    assert "has lost another worker" in cluster.errors[0].read_text()
    assert "--resume" in cluster.errors[0].read_text()
    assert not (run / "model.keras").exists()

    cluster = Cluster(directory, "cluster")
    assert cluster.wait() == [0, 0], cluster.output()
    assert_equal_runs(figures(run), on_one_device(directory, LONGER), 12)
    # What every worker logs has a place of its own.
    assert read_losses(run / "worker_1" / "losses.tsv")[12] == pytest.approx(
        read_losses(run / "losses.tsv")[12]
    )


@pytest.fixture
def batch() -> tuple[dict[str, tf.Tensor], tf.Tensor, tf.Tensor]:
    rows = tf.reshape(tf.range(6), (3, 2))
    return {"source_ids": rows, "target_ids": rows + 10}, rows + 20, tf.ones((3, 2))


def test_rows_are_dealt_in_turn(batch: Any) -> None:
    inputs, labels, weights = rows_of(batch, 0, 2)
    assert inputs["source_ids"].numpy().tolist() == [[0, 1], [4, 5]]
    assert inputs["target_ids"].numpy().tolist() == [[10, 11], [14, 15]]
    assert labels.numpy().tolist() == [[20, 21], [24, 25]]
    assert weights.numpy().tolist() == [[1, 1], [1, 1]]


def test_who_gets_no_row_computes_the_first_at_weight_zero(batch: Any) -> None:
    inputs, labels, weights = rows_of(batch, 3, 4)
    assert inputs["source_ids"].numpy().tolist() == [[0, 1]]
    assert labels.numpy().tolist() == [[20, 21]]
    assert weights.numpy().tolist() == [[0, 0]]


def test_all_shares_of_validation_hold_every_pair_once() -> None:
    generator = np.random.default_rng(0)
    rows = [generator.integers(4, 20, generator.integers(1, 9)).tolist() for _ in range(23)]
    pairs = EncodedPairs.from_ids(rows, rows)
    found = []
    for worker in range(3):
        share = list(share_rows(evaluation_batches(pairs, 24), (worker, 3)))
        assert len(share) == batches_per_epoch(pairs, 24)
        for _, labels, weights in share:
            kept = [
                row[weight > 0].tolist()
                for row, weight in zip(labels.numpy(), weights.numpy(), strict=True)
            ]
            found += [row[:-1] for row in kept if row]
    assert sorted(found) == sorted(rows)


def test_one_device_takes_the_data_set_as_it_is() -> None:
    dataset = tf.data.Dataset.range(3)
    assert Replicas().distribute(lambda worker: dataset) is dataset
    assert Replicas().from_chief(7) == 7


@pytest.mark.parametrize(
    "config",
    [
        "",
        "{}",
        "[1]",
        '{"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 2}}',
        '{"cluster": {"worker": ["a:1"], "chief": ["c:1"]}, "task": {"type": "chief", "index": 0}}',
    ],
)
def test_tf_config_must_name_this_worker(monkeypatch: pytest.MonkeyPatch, config: str) -> None:
    monkeypatch.setenv("TF_CONFIG", config)
    with pytest.raises(ValueError, match="needs the environment variable TF_CONFIG"):
        open_replicas("multi-worker")


def test_an_unknown_strategy_is_an_error() -> None:
    with pytest.raises(ValueError, match="got 'horovod'"):
        open_replicas("horovod")
    with pytest.raises(ValueError, match="got 'horovod'"):
        TrainOptions(strategy="horovod")


def test_xla_and_a_strategy_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="jit_compile does not work with strategy 'mirrored'"):
        TrainOptions(strategy="mirrored", jit_compile=True)
