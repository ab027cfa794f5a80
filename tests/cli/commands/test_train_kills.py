"""The command line killed with SIGKILL at random moments, and started again with --resume."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from keras_transformer.runs.checkpoints import list_checkpoints
from keras_transformer.training.run.loss_record import read_losses

KILLS = 2
FLAGS = (
    "--epochs 6 --batch-tokens 128 --checkpoint-steps 7 --average-checkpoints 2 --seed 3 "
    "--learning-rate 0.01 --warmup-steps 10 --vocab-size 28 --model.model-dim 16 "
    "--model.feed-forward-dim 16 --model.num-heads 2 --model.num-encoder-layers 1 "
    "--model.num-decoder-layers 1 --model.dropout 0.2 --bleu-sentences 0"
).split()


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    """Everything but --output: parallel text whose target is the source reversed."""
    words = "alpha beta gamma delta epsilon zeta eta theta".split()
    rows = [[words[(i * j + i) % 8] for j in range(1, 2 + i % 5)] for i in range(120)]
    given = []
    for side, lines in {"source": rows, "target": [row[::-1] for row in rows]}.items():
        path = tmp_path / f"{side}.txt"
        path.write_text("".join(" ".join(row) + "\n" for row in lines), encoding="utf-8")
        given += [f"--train-{side}", str(path), f"--valid-{side}", str(path)]
    return ["train", "--data", "files", *given, *FLAGS]


def start(arguments: list[str], output: Path) -> subprocess.Popen:
    command = [sys.executable, "-m", "keras_transformer", *arguments, "--output", str(output)]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment
    )


def finish(process: subprocess.Popen) -> None:
    _, errors = process.communicate(timeout=280)
    assert process.returncode == 0, errors.decode()


@pytest.mark.exhaustive
def test_losses_after_kills_at_random_moments_are_the_unbroken_runs(
    arguments: list[str], tmp_path: Path
) -> None:
    finish(start(arguments, tmp_path / "unbroken"))
    expected = read_losses(tmp_path / "unbroken" / "losses.tsv")
    assert list(expected) == list(range(1, 31))

    killed, chance = tmp_path / "killed", random.Random(1)
    for _ in range(KILLS):
        updates = chance.randint(1, len(expected) - 1)
        with start([*arguments, "--resume"], killed) as process:
            while max(read_losses(killed / "losses.tsv"), default=0) < updates:
                assert process.poll() is None, process.stderr.read().decode()
                time.sleep(0.01)
            time.sleep(chance.uniform(0, 0.1))
            process.send_signal(signal.SIGKILL)
        assert not (killed / "model.keras").exists()
    finish(start([*arguments, "--resume"], killed))

    assert read_losses(killed / "losses.tsv") == pytest.approx(expected, rel=1e-6)
    names = [
        {path.name for path in list_checkpoints(tmp_path / run / "checkpoints")}
        for run in ("unbroken", "killed")
    ]
    assert names[0] == names[1]
