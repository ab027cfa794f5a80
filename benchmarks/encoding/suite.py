"""The whole measurement of one encoder size: models are made, float32 states compared, and the
engines take turns on batches of equal and of real lengths.
"""

import dataclasses
import itertools
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from driver import load_all, measure_turns
from speed import artefacts
from speed.cells import OURS, compare
from speed.processes import Worker

from .artefacts import make
from .sizes import EncoderSize

# Largest difference of a float32 state.
TOLERANCE = 1e-3
_ROWS_COMPARED = 4


@dataclasses.dataclass(frozen=True)
class Load:
    """What is encoded in a cell.

    Attributes:
        name: What the table calls it: a length, or "real".
        batch: Rows at a time.
        batches: Rows of ids.
    """

    name: str
    batch: int
    batches: list[list[list[int]]]

    @property
    def tokens(self) -> int:
        """Tokens of all rows together, padding not counted."""
        return sum(len(row) for rows in self.batches for row in rows)


def even_loads(size: EncoderSize, batches: Sequence[int], lengths: Sequence[int]) -> list[Load]:
    """Returns a load for each batch size and length; all rows of one are equally long.

    Raises:
        ValueError: The model has not as many positions.
    """
    for length in lengths:
        if not 2 <= length <= size.longest:
            raise ValueError(
                f"length must be 2 to {size.longest} tokens for {size.name}, got {length}."
            )
    return [
        Load(str(length), batch, [size.rows([length] * batch)])
        for length, batch in itertools.product(lengths, batches)
    ]


def real_loads(rows: Sequence[list[int]], batches: Sequence[int]) -> list[Load]:
    """Returns a load for each batch size: rows of real lengths in batches, in their order."""
    return [
        Load("real", batch, [list(rows[at : at + batch]) for at in range(0, len(rows), batch)])
        for batch in batches
    ]


def measure_size(
    size: EncoderSize,
    precisions: Sequence[str],
    loads: Sequence[Load],
    workers: Mapping[str, Worker],
    work: Path,
    rounds: int,
    target: str = artefacts.FASTEST,
) -> Iterator[dict[str, Any]]:
    """Measures all loads in all precisions.

    Args:
        size: The model.
        precisions: "float32", "int8", or both.
        loads: What to encode.
        workers: `OURS` and the peers.
        work: Where models are kept.
        rounds: Turns of each engine.
        target: What our graphs are exported for.

    Yields:
        For each cell `compare`'s fields in tokens a second; "cpu_seconds", those of a round by
        engine; "difference", the largest one of the engines' float32 states; "deviation", of our
        states and of each peer's from float32, relative to the states' deviation.

    Raises:
        ValueError: Float32 states differ by more than `TOLERANCE`.
    """
    folder = make(work, size.name, {"float32", *precisions}, target)
    lengths = sorted({len(row) for load in loads for rows in load.batches for row in rows})
    rows = size.rows([*lengths[-_ROWS_COMPARED:], *lengths[:_ROWS_COMPARED]])
    load_all(workers, folder, "float32")
    exact = {name: states_of(worker, rows) for name, worker in workers.items()}
    difference = check_states(size.name, exact)
    for precision in precisions:
        load_all(workers, folder, precision)
        states = {name: states_of(worker, rows) for name, worker in workers.items()}
        deviation = {name: _deviation(states[name], exact[name]) for name in workers}
        for load in loads:
            yield {
                "size": size.name,
                "precision": precision,
                "length": load.name,
                "batch": load.batch,
                "tokens": load.tokens,
                "difference": difference,
                "deviation": deviation,
                **measure_load(load, workers, rounds),
            }


def measure_load(load: Load, workers: Mapping[str, Worker], rounds: int) -> dict[str, Any]:
    """Lets all engines take turns on a load.

    Returns:
        `compare`'s fields, and the median "cpu_seconds" of a round by engine.
    """
    seconds, cpu = measure_turns(workers, {"batches": load.batches}, rounds)
    used = {name: statistics.median(values) for name, values in cpu.items()}
    return {**compare(seconds, load.tokens), "cpu_seconds": used}


def states_of(worker: Worker, rows: list[list[int]]) -> np.ndarray:
    """Returns an engine's states of rows of unequal lengths: `(tokens, model_dim)`."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "states.npy"
        worker.ask("save_states", rows=rows, path=str(path))
        return np.load(path)


def check_states(place: str, states: Mapping[str, np.ndarray]) -> float:
    """Checks that all engines give our float32 states, and returns the largest difference.

    Raises:
        ValueError: Some do not.
    """
    largest = 0.0
    for name, found in states.items():
        difference = float(np.abs(found - states[OURS]).max())
        if not difference <= TOLERANCE:
            raise ValueError(
                f"{place}: float32 states of {name} differ from ours by up to {difference:.2g}; "
                f"at most {TOLERANCE} is rounding."
            )
        largest = max(largest, difference)
    return largest


def _deviation(states: np.ndarray, exact: np.ndarray) -> float:
    return float(np.sqrt(np.mean((states - exact) ** 2)) / np.std(exact))
