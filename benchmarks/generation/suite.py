"""The whole measurement of one decoder size: models are made, greedy float32 ids compared, and the
engines take turns.
"""

import dataclasses
import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from driver import load_all, measure_turns
from speed import artefacts
from speed.cells import OURS, SPLIT, check_ids, compare, taking_part
from speed.processes import Worker

from .artefacts import make
from .engine import GREEDY
from .sizes import DecoderSize


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cell:
    """What is generated in a cell.

    Attributes:
        size: The model.
        precision: "float32" or "int8".
        search: One of `engine.SEARCHES`.
        prompt: Tokens read before the first new one.
        batch: Prompts at a time.
        length: New tokens.
    """

    size: DecoderSize
    precision: str
    search: str
    prompt: int
    batch: int
    length: int

    def __post_init__(self) -> None:
        if self.prompt + self.length > self.size.longest:
            raise ValueError(
                f"{self.size.name} has {self.size.longest} positions: a prompt of {self.prompt} "
                f"and {self.length} new tokens do not fit."
            )

    @property
    def request(self) -> dict[str, Any]:
        """The arguments of an engine's `generate`."""
        prompts = self.size.prompts(self.batch, self.prompt)
        return {"prompts": prompts, "length": self.length, "search": self.search}

    @property
    def tokens(self) -> int:
        """New tokens of all rows together."""
        return self.batch * self.length

    @property
    def place(self) -> str:
        """What messages call it."""
        return (
            f"{self.size.name}, {self.search}, prompt {self.prompt}, batch {self.batch}, "
            f"{self.precision}"
        )


def measure_size(
    cells: Sequence[Cell],
    workers: Mapping[str, Worker],
    work: Path,
    rounds: int,
    target: str = artefacts.FASTEST,
) -> Iterator[dict[str, Any]]:
    """Measures cells of one size.

    Args:
        cells: What to measure; those of a precision stand together.
        workers: `OURS`, one or more peers, and maybe `SPLIT`.
        work: Where models are kept.
        rounds: Turns of each engine.
        target: What our graphs are exported for.

    Yields:
        For each cell the fields of `measure_cell`, and "float32_equal", the share of prompts with
        the same greedy ids from ours and the peer in float32.

    Raises:
        ValueError: Greedy float32 ids differ; see `check_ids`.
    """
    folder = make(work, cells[0].size.name, {"float32", *(c.precision for c in cells)}, target)
    load_all(workers, folder, "float32")
    peer = next(worker for name, worker in workers.items() if name not in (OURS, SPLIT))
    equal: dict[tuple[int, int], float] = {}
    for cell in cells:
        if (cell.prompt, cell.batch) not in equal:
            exact = dataclasses.replace(cell, precision="float32", search=GREEDY)
            equal[cell.prompt, cell.batch] = check_greedy(exact, workers[OURS], peer)
    for precision, group in itertools.groupby(cells, key=lambda cell: cell.precision):
        load_all(workers, folder, precision)
        for cell in group:
            row = measure_cell(cell, workers, rounds)
            yield {**row, "float32_equal": equal[cell.prompt, cell.batch]}


def check_greedy(cell: Cell, ours: Worker, peer: Worker) -> float:
    """Returns the share of prompts that both engines continue alike.

    Raises:
        ValueError: It is too small; see `check_ids`.
    """
    ids = {worker.name: worker.ask("generate", **cell.request) for worker in (ours, peer)}
    return check_ids(cell.place, ids, cell.length)


def measure_cell(cell: Cell, workers: Mapping[str, Worker], rounds: int) -> dict[str, Any]:
    """Lets our engine and the peers take turns; all have the cell's model loaded.

    Returns:
        Which cell it is; `compare`'s fields in new tokens a second, the prompt's time included;
        the median "cpu_seconds" of a run by engine.
    """
    seconds, cpu = measure_turns(taking_part(workers, cell.batch), cell.request, rounds)
    return {
        "size": cell.size.name,
        "precision": cell.precision,
        "search": cell.search,
        "prompt": cell.prompt,
        "batch": cell.batch,
        **compare(seconds, cell.tokens),
        "cpu_seconds": {name: statistics.median(used) for name, used in cpu.items()},
    }
