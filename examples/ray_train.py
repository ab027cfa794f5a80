"""Trains on a Ray cluster: Ray Train runs `keras-transformer train` on several workers, and starts
them all again from the last checkpoint when one of them is lost.

    python examples/ray_train.py --workers 2 -- --data demo --output runs/ray

Arguments after `--` go to `keras-transformer train`, with `--strategy multi-worker --resume`
added. Without `--address` the cluster is this machine. All workers must see the files and the run
directory under the same names. Ends with the figures of the last round:

    step 400, loss 1.912, ..., val_loss 0.4123, ...
"""

import argparse
import json
import os
from pathlib import Path
from typing import Any

# Before Ray is imported: it reports nothing about its use.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import ray
from ray.train import FailureConfig, RunConfig, ScalingConfig
from ray.train.tensorflow import TensorflowTrainer


def train_on_worker(settings: dict[str, Any]) -> None:
    """Runs the command on one worker; Ray has put the cluster's addresses into TF_CONFIG."""
    # Ray asks for Keras 2, which nothing here uses.
    os.environ.pop("TF_USE_LEGACY_KERAS", None)
    os.chdir(settings["directory"])

    from keras_transformer.cli.commands.train import main as train

    train([*settings["arguments"], "--strategy", "multi-worker", "--resume"])


def main() -> None:
    """Starts the workers and waits for them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--address", help="of a Ray cluster (default: one on this machine)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--gpus", action="store_true", help="each worker gets a GPU")
    parser.add_argument("--restarts", type=int, default=3, help="most restarts of the workers")
    parser.add_argument("arguments", nargs="+", help="of keras-transformer train, after --")
    given = parser.parse_args()
    if "--output" not in given.arguments:
        parser.error("after -- there must be --output DIRECTORY")

    local = {} if given.address else {"num_cpus": given.workers, "include_dashboard": False}
    ray.init(address=given.address or "local", **local)
    trainer = TensorflowTrainer(
        train_on_worker,
        train_loop_config={"arguments": given.arguments, "directory": os.getcwd()},
        scaling_config=ScalingConfig(num_workers=given.workers, use_gpu=given.gpus),
        run_config=RunConfig(failure_config=FailureConfig(max_failures=given.restarts)),
    )
    trainer.fit()
    ray.shutdown()
    output = Path(given.arguments[given.arguments.index("--output") + 1])
    history = json.loads((output / "training.json").read_text(encoding="utf-8"))["history"]
    print(", ".join(f"{name} {values[-1]:.4g}" for name, values in history.items()))


if __name__ == "__main__":
    main()
