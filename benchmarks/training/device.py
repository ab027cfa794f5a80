"""The measurement of one model size in one precision on an accelerator: our model on JAX and
PyTorch's, each in a process of its own, take turns on the same batches.

An engine that fails is left out and noted; nothing here needs TensorFlow.
"""

import dataclasses
import statistics
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from speed.processes import Worker

from .batches import Rows, make_batches, read_batches
from .models import MODELS
from .suite import check_same_work, compare

OURS, PYTORCH = "ours", "PyTorch"
# What must be installed.
PACKAGES = {OURS: ("keras", "jax"), PYTORCH: ("torch",)}


@dataclasses.dataclass(frozen=True)
class Engine:
    """A process that trains.

    Attributes:
        library: `OURS` or `PYTORCH`.
        module: The file below `training/peers` without its ending.
        arguments: Of its command line.
        compiled: Whether the library's compiler is used.
    """

    library: str
    module: str
    arguments: tuple[str, ...] = ()
    compiled: bool = True


@dataclasses.dataclass(frozen=True)
class Load:
    """What is trained on: batches of one shape.

    Attributes:
        tokens: The most tokens of one side in a batch, before lengths are rounded.
        rows: How batches are made of lines.
        batches: Number of batches in a turn.
    """

    tokens: int
    rows: Rows
    batches: int = 16


ENGINES = {
    "ours": Engine(OURS, "ours_on_jax"),
    "ours-unfused": Engine(OURS, "ours_on_jax", ("unfused",)),
    "pytorch-eager": Engine(PYTORCH, "pytorch", ("accelerator",), compiled=False),
    "pytorch-compile": Engine(PYTORCH, "pytorch", ("accelerator",)),
}
# Two sentences joined are as long as one of news, eight as the rows that BERT mostly learns from.
_PAIRS, _TEXTS = Rows(lines=2, one_shape=True), Rows(lines=8, one_shape=True)
_SHORT = Rows(one_shape=True)
LOADS = {
    "base": Load(25_000, _PAIRS),
    "big": Load(25_000, _PAIRS),
    "bert-base": Load(16_384, _TEXTS),
    # A row has one token more than the model reads.
    "gpt2": Load(16 * 1025, Rows(length=1024, packing="stream", one_shape=True)),
    # For smoke tests.
    "mini": Load(256, _SHORT, batches=2),
    "bert-mini": Load(1024, _SHORT, batches=2),
    "gpt2-mini": Load(256, _SHORT, batches=2),
}


def batches_path(size: str, work: Path) -> Path:
    """Names the file of a size's batches."""
    return work / f"device-{size}.npz"


def make(size: str, work: Path, data: Path | None) -> Path:
    """Makes a size's batches, which takes TensorFlow; returns the file."""
    path, load = batches_path(size, work), LOADS[size]
    make_batches(path, size, load.tokens, load.batches, data, streams=False, rows=load.rows)
    return path


def measure(
    size: str,
    precision: str,
    names: Sequence[str],
    work: Path,
    rounds: int,
    group: dict[str, Any],
    save: Callable[[], None],
) -> None:
    """Lets the engines take turns.

    Args:
        size: The model size.
        precision: One of `suite.PRECISIONS`.
        names: Of `ENGINES`.
        work: Where `make` wrote the batches.
        rounds: Turns of each engine.
        group: Gets "size", "precision", "shapes" and "tokens" of the batches, "engines", for each
            the fields of `Trainer.load` and `describe`, "last_loss" on the first batch at the end,
            "rates", the tokens a second of each round, "rate", their median, and "peak_memory" in
            bytes; and "failures", a message for each engine that has one.
        save: Called whenever something was added.
    """
    path = batches_path(size, work)
    batches = read_batches(path)
    tokens = sum(batch.tokens for batch in batches)
    engines: dict[str, Any] = {}
    failures: dict[str, str] = {}
    group |= {"size": size, "precision": precision, "shapes": batches[0].shapes}
    group |= {"tokens": tokens, "engines": engines, "failures": failures}
    with ExitStack() as stack:
        # All start now: importing their libraries takes seconds, and no accelerator.
        workers = {name: stack.enter_context(_start(name)) for name in names}

        def attempt(name: str, step: Callable[[Worker], None]) -> None:
            if name in failures:
                return
            try:
                step(workers[name])
            except RuntimeError as error:
                failures[name] = str(error)
                engines.pop(name, None)
                # What it holds of the accelerator's memory is for the others.
                workers[name].end()
            save()

        def load(worker: Worker) -> None:
            order = {"size": size, "precision": precision, "batches": str(path)}
            found = worker.ask("load", compiled=ENGINES[worker.name].compiled, **order)
            engines[worker.name] = {**found, **worker.ask("describe"), "rates": []}

        def turn(worker: Worker) -> None:
            engine = engines[worker.name]
            engine["rates"].append(tokens / worker.ask("measure"))
            engine["rate"] = statistics.median(engine["rates"])

        def end(worker: Worker) -> None:
            last_loss = worker.ask("train_on_first")
            engines[worker.name] |= {
                "last_loss": last_loss,
                "peak_memory": worker.ask("peak_memory"),
            }

        for step in (load, *[turn] * rounds, end):
            for name in names:
                attempt(name, step)
    _check(size, engines, failures)
    save()


def row(group: Mapping[str, Any]) -> dict[str, Any] | None:
    """Compares the best of ours and of PyTorch, as `suite.row`; None if one has no figure."""
    best = {}
    for name, engine in group["engines"].items():
        library = ENGINES[name].library
        if library not in best or engine["rate"] > group["engines"][best[library]]["rate"]:
            best[library] = name
    if len(best) < 2:
        return None
    return {
        "size": group["size"],
        "precision": group["precision"],
        "peer": PYTORCH,
        **compare(*(group["engines"][best[library]] for library in (OURS, PYTORCH))),
        "ours_variant": best[OURS],
        "theirs_variant": best[PYTORCH],
    }


def _start(name: str) -> Worker:
    engine = ENGINES[name]
    return Worker(f"training.peers.{engine.module}", *engine.arguments, name=name)


def _check(size: str, engines: Mapping[str, Any], failures: dict[str, str]) -> None:
    """Notes which engines did not do the first one's work."""
    for name, engine in engines.items():
        try:
            first = next(iter(engines))
            check_same_work({first: engines[first], name: engine}, MODELS[size].parameter_count)
        except ValueError as error:
            failures[name] = str(error)
