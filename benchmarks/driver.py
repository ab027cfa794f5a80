"""What the benchmark suites share: the arguments of their command lines, engines that take turns,
Markdown tables, and the JSON file of all figures.
"""

import argparse
import contextlib
import dataclasses
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

Key = TypeVar("Key")
PRECISIONS = ("float32", "bfloat16", "int8")
# What our graphs are exported for, the fastest first.
TARGETS = ("native", "onnxruntime")
FASTEST = TARGETS[0]
# Work that takes less is repeated within one turn.
_LEAST_SECONDS = 0.2


class Engine(Protocol):
    """What takes turns with others: a `Worker`."""

    def ask(self, do: str, **arguments: Any) -> Any:
        """Calls a method of the engine."""

    def settle(self) -> None:
        """Returns when it is idle."""


def parser_of(description: str, *shared: str, **defaults: Any) -> argparse.ArgumentParser:
    """Returns a parser of a benchmark's command line.

    Args:
        description: What the benchmark measures.
        shared: Which of the shared arguments it has: "target", "repeats", "json", "work".
        defaults: Defaults of these that are other than usual.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    kinds: dict[str, dict[str, Any]] = {
        "target": {"choices": TARGETS, "help": "what our graphs are exported for"},
        "repeats": {"type": count, "help": "turns of each engine; their median counts"},
        "json": {"type": Path, "metavar": "FILE", "help": "where to write all figures"},
        "work": {"type": Path, "help": "where exports and batches are kept"},
    }
    usual = {"target": FASTEST, "repeats": 7, "work": Path("build/benchmarks")} | defaults
    for name in shared:
        parser.add_argument(f"--{name}", default=usual.get(name), **kinds[name])
    return parser


def items(kind: Callable[[str], Any]) -> Callable[[str], list[Any]]:
    """Reads values separated by commas."""

    def read(text: str) -> list[Any]:
        try:
            return list(dict.fromkeys(kind(item) for item in text.split(",")))
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return read


def names(known: Iterable[str]) -> Callable[[str], list[str]]:
    """Reads known names separated by commas, or "none"."""

    def check(name: str) -> str:
        if name not in known:
            raise ValueError(f"must be of {', '.join(known)}, got {name!r}")
        return name

    return lambda text: [] if text == "none" else items(check)(text)


def count(text: str) -> int:
    """Reads a number above 0."""
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"must be a whole number above 0, got {text!r}")
    return int(text)


def in_turns(
    turn: Callable[[Key], float], engines: Iterable[Key], rounds: int
) -> dict[Key, list[float]]:
    """Measures A B C, A B C: whatever slows the machine down for a while slows all of them down.

    Args:
        turn: Measures the engine of a name.
        engines: Their names.
        rounds: How often each is measured.

    Returns:
        What `turn` returned in each round, by engine.
    """
    found: dict[Key, list[float]] = {name: [] for name in engines}
    for _ in range(rounds):
        for name, values in found.items():
            values.append(turn(name))
    return found


def take_turns(
    measures: Mapping[str, Callable[[int], float]], rounds: int, settling: Mapping[str, Engine]
) -> dict[str, list[float]]:
    """Measures every engine once a round, alone.

    Args:
        measures: For each engine a function that repeats the work as often as it is told and
            returns the mean seconds.
        rounds: Number of rounds, after two that only warm up.
        settling: For each engine what must be idle before the next one starts.

    Returns:
        For each engine the seconds of each round.
    """
    times = dict.fromkeys(measures, 1)

    def turn(name: str) -> float:
        seconds = measures[name](times[name])
        settling[name].settle()
        return seconds

    in_turns(turn, measures, 1)
    for name, (seconds,) in in_turns(turn, measures, 1).items():
        times[name] = math.ceil(_LEAST_SECONDS / seconds)
    return in_turns(turn, measures, rounds)


def measure_turns(
    workers: Mapping[str, Engine], request: Mapping[str, Any], rounds: int
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Has engines do the same work in turns.

    Args:
        workers: The engines, whose `measure` answers with "seconds" and "cpu_seconds".
        request: Arguments of `measure`, but for how often the work is repeated.
        rounds: As for `take_turns`.

    Returns:
        The seconds of each round by engine, and those of processor time.
    """
    cpu: dict[str, list[float]] = {name: [] for name in workers}

    def measure(name: str) -> Callable[[int], float]:
        def once(times: int) -> float:
            found = workers[name].ask("measure", **request, times=times)
            cpu[name].append(found["cpu_seconds"])
            return found["seconds"]

        return once

    seconds = take_turns({name: measure(name) for name in workers}, rounds, workers)
    return seconds, {name: used[-rounds:] for name, used in cpu.items()}


def load_all(workers: Mapping[str, Engine], folder: Path, precision: str) -> None:
    """Has all engines open their models, one after the other."""
    for worker in workers.values():
        worker.ask("load", folder=str(folder), precision=precision)
        worker.settle()


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Makes a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def paragraphs(machine: Mapping[str, Any], how: str, *parts: str) -> str:
    """Joins tables and notes to a report that begins with the machine and how was measured."""
    described = ", ".join(f"{name} {value}" for name, value in machine.items())
    parts = (f"Measured with {described}; {how}", *parts)
    return "\n\n".join(part.rstrip() for part in parts if part) + "\n"


def tell(line: str) -> None:
    """Prints the benchmark's progress on the error stream."""
    print(line, file=sys.stderr, flush=True)


@contextlib.contextmanager
def figures(script: str, json_file: Path | None, **parts: Any) -> Iterator[dict[str, Any]]:
    """Keeps what is measured within, and writes it even if a later measurement fails.

    Args:
        script: The benchmark's file, which messages name.
        json_file: Where all figures go; nowhere if None.
        parts: What the figures begin with: the machine, empty lists.

    Raises:
        SystemExit: With a message, if a measurement fails.
    """
    result = dict(parts)
    try:
        yield result
    except (OSError, RuntimeError, ValueError) as error:
        sys.exit(f"{Path(script).name}: {error}")
    finally:
        write_json(result, json_file)


def write_json(result: Mapping[str, Any], json_file: Path | None) -> None:
    """Writes figures, of which some may be dataclasses, if a file is given."""
    if json_file is not None:
        text = json.dumps(result, indent=1, default=dataclasses.asdict)
        json_file.write_text(text + "\n", encoding="utf-8")


def publish(text: str, json_file: Path | None) -> None:
    """Prints the report, and writes it beside the file of figures, with the ending .md."""
    print(text, flush=True)
    if json_file is not None:
        json_file.with_suffix(".md").write_text(text, encoding="utf-8")
