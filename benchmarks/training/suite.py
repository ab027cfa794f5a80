"""The whole measurement of one model size in one precision: every engine loads and warms up in a
process of its own, then they take turns on the same batches.
"""

import dataclasses
import functools
import importlib.util
import itertools
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from driver import in_turns
from speed.processes import Worker

from keras_transformer.config.single_stack import SingleStackConfig

from .batches import make_batches, read_batches
from .models import MODELS

OURS = "ours"
# With products as in mixed_bfloat16 and all else in float32, where the processor has such products.
ROUNDED = "ours-rounded"
PRECISIONS = ("float32", "mixed_bfloat16")
COMPILERS = ("off", "on")
# The usual budget of a batch.
MEMORY_TOKENS = 4096
# Options that save memory, by what the report calls them.
SAVINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "4 micro-batches": {"micro_batches": 4},
    "recomputed": {"recompute": True},
    "both": {"micro_batches": 4, "recompute": True},
}
# Losses before the first update may differ this much: weights are drawn at random.
_SAME_LOSS = 0.05


@dataclasses.dataclass(frozen=True)
class Peer:
    """An engine, and what it can be run with.

    Attributes:
        module: The file below `training/peers` without its ending.
        variants: Names of the library's run as it is and with its compiler.
        package: What must be installed.
        has_stacks: Whether it has models with one stack too, an encoder or a decoder alone.
    """

    module: str
    variants: tuple[str, str] = ("XLA off", "XLA on")
    package: str = "keras"
    has_stacks: bool = True


@dataclasses.dataclass(frozen=True)
class Load:
    """What is trained on.

    Attributes:
        tokens: The most padded tokens of one side in a batch.
        batches: Number of batches in a turn; each of its own shape, which compilers take time for.
    """

    tokens: int
    batches: int


ENGINES = {
    OURS: Peer("ours"),
    ROUNDED: Peer("ours_rounded", ("float32, factors rounded",) * 2),
    "pytorch": Peer("pytorch", ("eager", "compile"), "torch"),
    "keras-hub": Peer("keras_hub_layers", package="keras_hub"),
    "textbook": Peer("textbook", has_stacks=False),
}
PEERS = tuple(name for name in ENGINES if name not in (OURS, ROUNDED))
LOADS = {
    "tiny": Load(4096, 4),
    "base": Load(2048, 1),
    "bert-tiny": Load(4096, 4),
    "gpt2-tiny": Load(4096, 4),
    "mini": Load(128, 2),
    # Of a text 15 % is learnt from, so it takes more for a mean loss that all engines agree on.
    "bert-mini": Load(1024, 2),
    "gpt2-mini": Load(128, 2),
}


def check_installed(peers: Sequence[str]) -> None:
    """Raises `ValueError` if a peer's package is missing."""
    for name in peers:
        package = ENGINES[name].package
        if importlib.util.find_spec(package) is None:
            raise ValueError(
                f"the peer {name} needs {package}: install it with `pip install "
                f"{package.replace('_', '-')}`, or leave the peer out with --peers."
            )


def peers_of(size: str, peers: Sequence[str]) -> list[str]:
    """Returns those of the peers that can train a model."""
    is_stack = isinstance(MODELS[size], SingleStackConfig)
    return [name for name in peers if ENGINES[name].has_stacks or not is_stack]


def batches_file(
    size: str, work: Path, data: Path | None
) -> tuple[Path, dict[str, dict[str, float]]]:
    """Makes a size's batches.

    Args:
        size: The model size.
        work: Where they are written.
        data: As for `make_batches`.

    Returns:
        The file, and `make_batches`'s report.
    """
    path, load = work / f"batches-{size}.npz", LOADS[size]
    return path, make_batches(path, size, load.tokens, load.batches, data)


def measure(
    size: str,
    precision: str,
    peers: Sequence[str],
    compilers: Sequence[str],
    batches: Path,
    rounds: int,
) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """Lets our engine and the peers take turns.

    Args:
        size: The model size.
        precision: One of `PRECISIONS`.
        peers: Of `PEERS`.
        compilers: Of `COMPILERS`: whether each engine runs without and with its compiler.
        batches: From `batches_file`.
        rounds: Turns of each engine.

    Returns:
        The rows, one a peer: see `row`. And for each engine and variant the fields of
        `Trainer.load`, "last_loss" on the first batch at the end, "rates", the tokens a
        second of each round, "rate", their median, and "peak_memory" in bytes.

    Raises:
        ValueError: The engines did not do the same work.
    """
    tokens = sum(batch.tokens for batch in read_batches(batches))
    with ExitStack() as stack:
        workers, engines = {}, {}
        keys = list(itertools.product((OURS, *peers), [name == "on" for name in compilers]))
        if precision == "mixed_bfloat16" and can_round():
            keys.append((ROUNDED, False))
        for key in keys:
            workers[key] = worker = stack.enter_context(start(*key))
            order = {"size": size, "precision": precision, "batches": str(batches)}
            engines[key] = worker.ask("load", compiled=key[1], **order)
            worker.settle()

        def rate(key: tuple[str, bool]) -> float:
            found = tokens / workers[key].ask("measure")
            workers[key].settle()
            return found

        for key, rates in in_turns(rate, workers, rounds).items():
            engines[key] |= {"rates": rates, "rate": statistics.median(rates)}
            engines[key]["last_loss"] = workers[key].ask("train_on_first")
            engines[key]["peak_memory"] = workers[key].ask("peak_memory")
    named = {f"{name}, {variant(name, compiled)}": e for (name, compiled), e in engines.items()}
    check_same_work(named, MODELS[size].parameter_count)
    rows = [row(size, precision, peer, engines) for peer in peers]
    return rows, named


@functools.cache
def can_round() -> bool:
    """Whether our products of rounded factors are to be had here; found out in another process."""
    program = (
        "import sys\n"
        "from keras_transformer.layers.products.product import multiply_in_bfloat16\n"
        "sys.exit(not multiply_in_bfloat16())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    return done.returncode == 0


def start(name: str, compiled: bool, **changes: Any) -> Worker:
    """Starts an engine's process; ours takes changes of its options."""
    module = f"training.peers.{ENGINES[name].module}"
    arguments = [json.dumps(changes)] if changes else []
    return Worker(module, *arguments, name=f"{name}, {variant(name, compiled)}")


def variant(name: str, compiled: bool) -> str:
    """Says how an engine is run."""
    return ENGINES[name].variants[compiled]


def row(
    size: str, precision: str, peer: str, engines: Mapping[tuple[str, bool], Mapping[str, Any]]
) -> dict[str, Any]:
    """Compares the better variants of ours and of a peer.

    Returns:
        "size", "peer", "precision"; "ours", "theirs", tokens a second, and "ratio";
        "ours_variant" and "theirs_variant"; "ratio_low" and "ratio_high" of a round.
    """
    best = {
        names[0]: max((key for key in engines if key[0] in names), key=lambda k: engines[k]["rate"])
        for names in ((OURS, ROUNDED), (peer,))
    }
    return {
        "size": size,
        "peer": peer,
        "precision": precision,
        **compare(engines[best[OURS]], engines[best[peer]]),
        "ours_variant": variant(*best[OURS]),
        "theirs_variant": variant(*best[peer]),
    }


def compare(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, float]:
    """Returns the rates of two engines, "ours" and "theirs", their "ratio", and its "ratio_low" and
    "ratio_high" of a round.
    """
    ratios = [a / b for a, b in zip(ours["rates"], theirs["rates"], strict=True)]
    return {
        "ours": ours["rate"],
        "theirs": theirs["rate"],
        "ratio": ours["rate"] / theirs["rate"],
        "ratio_low": min(ratios),
        "ratio_high": max(ratios),
    }


def check_same_work(engines: Mapping[str, Mapping[str, Any]], parameters: int) -> None:
    """Raises `ValueError` if an engine's model is not ours.

    Args:
        engines: With "parameters", "first_loss" and "last_loss", ours first.
        parameters: What each must have.
    """
    expected = next(engine["first_loss"] for engine in engines.values())
    for place, engine in engines.items():
        if engine["parameters"] != parameters:
            raise ValueError(
                f"{place} has {engine['parameters']:,} parameters, not {parameters:,}."
            )
        if abs(engine["first_loss"] / expected - 1) > _SAME_LOSS:
            raise ValueError(
                f"{place} starts with a loss of {engine['first_loss']:.2f}, ours {expected:.2f}."
            )
        if not engine["last_loss"] < engine["first_loss"]:
            raise ValueError(
                f"{place} does not learn: its loss on the first batch went from "
                f"{engine['first_loss']:.2f} to {engine['last_loss']:.2f}."
            )


def step_memory(
    size: str, precisions: Sequence[str], work: Path, data: Path | None
) -> Iterator[dict[str, Any]]:
    """Measures how much memory our training step takes, in processes that do nothing else.

    Args:
        size: The model size.
        precisions: Of `PRECISIONS`.
        work: Where the batch is written.
        data: As for `make_batches`.

    Yields:
        For each precision and each of `SAVINGS` "size", "precision", "saving", "tokens", the most
        padded ones of one side in the batch, "peak_memory" in bytes and "seconds" of an update.
    """
    path = work / f"memory-{size}.npz"
    make_batches(path, size, MEMORY_TOKENS, 1, data, streams=False)
    for precision, (saving, changes) in itertools.product(precisions, SAVINGS.items()):
        with start(OURS, False, **changes) as worker:
            worker.ask("load", size=size, precision=precision, compiled=False, batches=str(path))
            yield {
                "size": size,
                "precision": precision,
                "saving": saving,
                "tokens": MEMORY_TOKENS,
                "seconds": worker.ask("measure"),
                "peak_memory": worker.ask("peak_memory"),
            }
