"""examples/ray_train.py: two workers on a local Ray cluster make one run."""

import importlib.util
import json
from pathlib import Path

import pytest
from fresh_process import python

from keras_transformer.training.run.loss_record import read_losses

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="needs the extra [ray]"
)

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "ray_train.py"
TRAIN = [
    *("--data", "demo", "--demo-size", "300", "--output", "run", "--vocab-size", "200"),
    *("--model.model-dim", "16", "--model.feed-forward-dim", "16", "--model.num-heads", "2"),
    *("--model.num-encoder-layers", "1", "--model.num-decoder-layers", "1"),
    *("--max-steps", "6", "--checkpoint-steps", "3", "--bleu-sentences", "0"),
]


@pytest.mark.exhaustive
def test_two_workers_of_a_local_cluster_train(tmp_path: Path) -> None:
    # Ray would run its workers at the lowest priority.
    environment = {"HOME": str(tmp_path), "PYTHONPATH": "", "RAY_worker_niceness": "0"}
    command = [SCRIPT, "--workers", "2", "--restarts", "0", "--", *TRAIN]
    result = python(*command, folder=tmp_path, **environment)
    last = result.stdout.splitlines()[-1]
    assert last.startswith("step 6, loss ") and "val_loss" in last
    run = tmp_path / "run"
    assert json.loads((run / "training.json").read_text())["finished"]
    assert (run / "model.keras").exists()
    losses = read_losses(run / "losses.tsv")
    assert list(losses) == list(range(1, 7))
    # Both workers saw the losses of the whole batches.
    assert read_losses(run / "worker_1" / "losses.tsv") == losses
