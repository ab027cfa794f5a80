"""The whole measurement of one encoder size: float32 states are compared, and the engines take
turns on batches of equal and of real lengths.
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
from peers.peer import having
from speed.cells import OURS, compare
from speed.processes import Worker

from .peers import PEERS
from .sizes import EncoderSize

# Largest difference of a float32 state.
TOLERANCE = 1e-3
_ROWS_COMPARED = 4
_REAL_ROWS_COMPARED = 64


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
    folder: Path,
    rounds: int,
) -> Iterator[dict[str, Any]]:
    """Measures all loads in all precisions.

    Args:
        size: The model.
        precisions: Of `driver.PRECISIONS`; those that no peer has are left out.
        loads: What to encode.
        workers: `OURS` and the peers by `peer_name`.
        folder: From `Maker.make`.
        rounds: Turns of each engine.

    Yields:
        For each cell `compare`'s fields in tokens a second; "cpu_seconds", those of a round by
        engine; "difference", the largest one of the engines' float32 states; "deviation", of our
        states and of each peer's from float32, relative to the states' deviation; "cosine", the
        least one of a row's mean state with that of our float32.

    Raises:
        ValueError: Float32 states differ by more than `TOLERANCE`.
    """
    rows = compared_rows(size, loads)
    present = having(workers, PEERS, folder, "float32")
    load_all(present, folder, "float32")
    exact = {name: states_of(worker, rows) for name, worker in present.items()}
    difference = check_states(size.name, exact)
    for precision in precisions:
        present = having(workers, PEERS, folder, precision)
        if present.keys() == {OURS}:
            continue
        load_all(present, folder, precision)
        states = {name: states_of(worker, rows) for name, worker in present.items()}
        ends = np.cumsum([len(row) for row in rows])[:-1]
        quality = {
            "difference": difference,
            "deviation": {name: _deviation(found, exact[name]) for name, found in states.items()},
            "cosine": {name: cosine(found, exact[OURS], ends) for name, found in states.items()},
        }
        for load in loads:
            yield {
                "size": size.name,
                "precision": precision,
                "length": load.name,
                "batch": load.batch,
                "tokens": load.tokens,
                **quality,
                **measure_load(load, present, rounds),
            }


def compared_rows(size: EncoderSize, loads: Sequence[Load]) -> list[list[int]]:
    """Returns rows on which engines are compared: of a trained run the loads' own, else random."""
    given = [row for load in loads for rows in load.batches for row in rows]
    if size.run is not None:
        return given[:_REAL_ROWS_COMPARED]
    lengths = sorted({len(row) for row in given})
    return size.rows([*lengths[-_ROWS_COMPARED:], *lengths[:_ROWS_COMPARED]])


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


def cosine(states: np.ndarray, exact: np.ndarray, ends: np.ndarray) -> float:
    """Returns the least cosine of a row's mean states.

    Args:
        states: `(tokens, model_dim)`, one row after the other.
        exact: What they should be.
        ends: Where rows end, but for the last.
    """
    pairs = zip(np.split(states, ends), np.split(exact, ends), strict=True)
    means = [(found.mean(axis=0), wanted.mean(axis=0)) for found, wanted in pairs]
    return min(float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)) for a, b in means)
