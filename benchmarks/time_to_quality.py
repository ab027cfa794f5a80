"""Measures how many minutes of training a translator needs for which quality.

    python benchmarks/time_to_quality.py MULTI30K OUTPUT --optimizer muon --epochs 24

Trains `tiny` by its recipe on Multi30k English-German and keeps the checkpoint of every round with
the time that training took until then, validation included. Afterwards the mean of the newest
checkpoints at each of them, as training averages them at its end, is exported and translates the
validation set with beam 5, log-probabilities divided by lengths, the search of Wu et al. 2021.
Prints BLEU over lowercased Moses tokens by minutes, and the first minute of each goal. Nothing is
looked up in the test set. A killed run goes on when called again, and its time, too.
"""

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, get_args

import keras
from driver import count
from moses_bleu import moses_bleu, read_lines
from speed.machine import describe_machine

from keras_transformer import (
    Corpus,
    OnnxTranslator,
    Pairs,
    TrainOptions,
    load_run,
    read_parallel,
    train,
)
from keras_transformer.cli.flags.products import Products, choose_products
from keras_transformer.export import export_onnx
from keras_transformer.runs.checkpoints import (
    average_checkpoints,
    checkpoint_step,
    list_checkpoints,
)
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.training.loop.compiling import compile_transformer
from keras_transformer.training.run.options import TrainPlan

SEARCH = {"beam_size": 5, "length_penalty": 1.0, "length_penalty_type": "exponent"}
_PACKAGES = ("tensorflow", "keras", "numpy")


class Point(NamedTuple):
    """What a run has reached.

    Attributes:
        step: Updates made.
        minutes: Minutes that training took until then.
        bleu: Percent.
    """

    step: int
    minutes: float
    bleu: float


class KeptRounds(keras.callbacks.Callback):
    """Keeps each round's checkpoint, and how long all rounds until then took.

    Args:
        checkpoints: Where the run writes them, and deletes old ones.
        kept: Where they stay.
        times: File with a line for each round: updates, tab, seconds.
    """

    def __init__(self, checkpoints: Path, kept: Path, times: Path) -> None:
        super().__init__()
        self._checkpoints, self._kept, self._times = checkpoints, kept, times
        self._begun = 0.0

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Forgets rounds after the checkpoint that a killed run goes on from."""
        done = int(self.model.optimizer.iterations)
        rows = {step: seconds for step, seconds in read_times(self._times).items() if step <= done}
        self._kept.mkdir(parents=True, exist_ok=True)
        lines = [f"{step}\t{seconds:.2f}\n" for step, seconds in rows.items()]
        self._times.write_text("".join(lines), encoding="utf-8")

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Starts the clock."""
        self._begun = time.monotonic()

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Keeps the checkpoint that the round has written."""
        seconds = time.monotonic() - self._begun
        newest = list_checkpoints(self._checkpoints)[-1]
        kept = self._kept / newest.name
        kept.unlink(missing_ok=True)
        os.link(newest, kept)
        with self._times.open("a", encoding="utf-8") as file:
            file.write(f"{checkpoint_step(newest)}\t{seconds:.2f}\n")


def read_times(path: Path) -> dict[int, float]:
    """Returns the seconds of each round by the updates made at its end."""
    if not path.exists():
        return {}
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines())
    return {int(step): float(seconds) for step, seconds in rows}


def recipe(given: argparse.Namespace) -> TrainOptions:
    """Returns how to train."""
    names = ("epochs", "max_steps", "optimizer", "r_drop", "average_checkpoints")
    values = {name: getattr(given, name) for name in names}
    chosen = {name: value for name, value in values.items() if value is not None}
    return TrainOptions.preset("tiny", seed=given.seed, bleu_sentences=0, **chosen)


def read_parts(folder: Path) -> list[Pairs]:
    """Reads the training and the validation pairs."""
    return [
        read_parallel(folder / f"{part}.en.gz", folder / f"{part}.de.gz")
        for part in ("train", "val")
    ]


def learn(given: argparse.Namespace) -> None:
    """Trains, or goes on with it, multiplying as the command `train` does."""
    choose_products(given.products, recipe(given))
    run = given.output / "run"
    keep = KeptRounds(run / "checkpoints", given.output / "kept", given.output / "times.tsv")
    train(
        Corpus(*read_parts(given.data)),
        run,
        preset="tiny",
        vocab_size=given.vocab_size,
        options=recipe(given),
        resume=True,
        callbacks=[keep],
    )


def learn_apart(given: argparse.Namespace) -> None:
    """Calls `learn` in a process of its own: where products are rounded, nothing is exported."""
    training = multiprocessing.get_context("spawn").Process(
        target=learn, args=(given,), daemon=True
    )
    training.start()
    training.join()
    if training.exitcode:
        sys.exit(training.exitcode)


def score(given: argparse.Namespace) -> list[Point]:
    """Translates the validation set with the model of every few rounds, and of the last."""
    model, tokenizer, _ = load_run(given.output / "run")
    record = RunDirectory(given.output / "run").load_training()
    plan = TrainPlan(**record["options"])
    training: Any = compile_transformer(model, plan, 1)
    sources, references = (read_lines(given.data / f"val.{side}.gz") for side in ("en", "de"))
    kept, times = list_checkpoints(given.output / "kept"), read_times(given.output / "times.tsv")
    points = []
    for last in range(len(kept), 0, -given.every):
        newest = kept[max(0, last - plan.average_checkpoints) : last]
        average_checkpoints(training, newest)
        step = checkpoint_step(newest[-1])
        path = export_onnx(model, tokenizer, given.output / "onnx", overwrite=True)
        with OnnxTranslator(path) as translator:
            translations = translator.translate(sources, **SEARCH)
        seconds = sum(taken for end, taken in times.items() if end <= step)
        points.append(Point(step, seconds / 60, moses_bleu(translations, references, "de")))
        print(f"{points[-1].minutes:.1f} minutes: {points[-1].bleu:.2f} BLEU", file=sys.stderr)
    return points[::-1]


def table(points: Sequence[Point], goals: Sequence[float]) -> str:
    """Writes the report as Markdown."""
    machine = ", ".join(f"{name} {value}" for name, value in describe_machine(_PACKAGES).items())
    lines = [machine, "", "| updates | minutes | BLEU |", "|---|---|---|"]
    lines += [f"| {one.step:,} | {one.minutes:.1f} | {one.bleu:.2f} |" for one in points]
    lines.append("")
    for goal in goals:
        reached = [one.minutes for one in points if one.bleu >= goal]
        when = f"after {reached[0]:.0f} minutes" if reached else "not reached"
        lines.append(f"{goal:g} BLEU: {when}.")
    return "\n".join(lines)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="Holds {train,val}.{en,de}.gz.")
    parser.add_argument("output", type=Path, help="Directory for the run and what is kept of it.")
    parser.add_argument("--vocab-size", type=count, default=10_000)
    parser.add_argument("--epochs", type=count, help="The recipe's if not given, as the next four.")
    parser.add_argument("--max-steps", type=count)
    parser.add_argument("--optimizer", choices=("adam", "muon"))
    parser.add_argument("--average-checkpoints", type=count)
    parser.add_argument("--r-drop", type=float)
    parser.add_argument("--products", choices=get_args(Products), default="auto")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=count, default=4, help="Rounds from one score to the next.")
    parser.add_argument("--goals", type=float, nargs="+", default=[35.0, 39.0, 41.0])
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark."""
    given = parse(arguments)
    try:
        read_parts(given.data)  # Before another process starts, whose errors are less clear.
    except (OSError, ValueError) as error:
        sys.exit(f"time_to_quality.py: {error}")
    learn_apart(given)
    print(table(score(given), given.goals))


if __name__ == "__main__":
    main()
