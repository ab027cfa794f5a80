"""Compares how fast two checkouts of this project decode: ratios of one over the other, in turns.

    python -m tools.compare_speed OLD NEW --work build/speed
    python -m tools.compare_speed OLD NEW --work build/speed --sizes tiny --batches 1 8

OLD and NEW are checkouts, each with its own `.venv`. OLD makes the random runs of
benchmarks/decode.py, both export them, and a process of each translates the same ids with forced
lengths, one after the other. Prints for each cell the median of the ratios of processor time, OLD's
over NEW's, so that more than 1 means that NEW is faster; ends with status 1 if ids differ.
"""

import argparse
import contextlib
import itertools
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

WORKER = Path(__file__).with_name("compare_speed_worker.py")
SEARCHES = {"greedy": 1, "beam 4": 4}


class Checkout:
    """The process of one checkout; it runs one order after the other."""

    def __init__(self, root: Path, work: Path) -> None:
        root = root.resolve()
        command = [str(root / ".venv" / "bin" / "python"), str(WORKER), str(root), str(work)]
        self._process = subprocess.Popen(
            command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, **order: Any) -> Any:
        """Sends an order and returns the answer."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise RuntimeError("the worker has no pipes.")
        print(json.dumps(order), file=stdin, flush=True)
        line = stdout.readline()
        if not line:
            sys.exit(f"the worker ended with status {self._process.wait()}")
        return json.loads(line)

    def close(self) -> None:
        """Ends the process."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()


def main() -> int:
    """Measures every cell and prints its ratio."""
    options = parse()
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    ratios, differ = [], 0
    with contextlib.ExitStack() as stack:
        old, new = (Checkout(root, work / name) for name, root in sides(options))
        for side in (old, new):
            stack.callback(side.close)
        for size, target, precision in itertools.product(
            options.sizes, options.targets, options.precisions
        ):
            old.ask(make=str(work / size), size=size)
            for side in (old, new):
                side.ask(export=str(work / size), target=target, precision=precision)
            for search, batch in itertools.product(SEARCHES, options.batches):
                cell = {"size": size, "batch": batch, "beam_size": SEARCHES[search]}
                ratio, same = measure(old, new, cell, options.rounds)
                ratios.append(ratio)
                differ += not same
                note = "" if same else ", other ids"
                print(
                    f"{size} {target} {precision} {search} {batch}: {ratio:.3f}{note}", flush=True
                )
    print(f"geometric mean {statistics.geometric_mean(ratios):.3f}, lowest {min(ratios):.3f}")
    return 1 if differ else 0


def measure(old: Checkout, new: Checkout, cell: dict[str, Any], rounds: int) -> tuple[float, bool]:
    """Returns the median ratio of a cell, and whether ids are equal."""
    first = [side.ask(run=cell, ids=True)["ids"] for side in (old, new)]
    pairs = [[side.ask(run=cell)["seconds"] for side in (old, new)] for _ in range(rounds)]
    return statistics.median(before / now for before, now in pairs), first[0] == first[1]


def sides(options: argparse.Namespace) -> list[tuple[str, Path]]:
    """Returns names and roots of both checkouts."""
    return [("old", options.old), ("new", options.new)]


def parse() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path, help="checkout to compare with")
    parser.add_argument("new", type=Path, help="checkout to look at")
    parser.add_argument("--work", type=Path, required=True, help="folder for runs and artefacts")
    parser.add_argument("--sizes", nargs="*", default=["tiny", "base"])
    parser.add_argument("--targets", nargs="*", default=["native", "onnxruntime"])
    parser.add_argument("--precisions", nargs="*", default=["float32", "int8"])
    parser.add_argument("--batches", nargs="*", type=int, default=[1, 8, 64])
    parser.add_argument("--rounds", type=int, default=5, help="runs of each side in a cell")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
