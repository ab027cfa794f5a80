"""The whole measurement of one decoder size: greedy float32 ids are compared, and the engines take
turns.
"""

import dataclasses
import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from driver import load_all, measure_turns
from peers.names import library_of
from peers.peer import having
from speed.cells import OURS, SPLIT, check_ids, compare, taking_part
from speed.processes import Worker

from .engine import GREEDY
from .peers import PEERS
from .sizes import DecoderSize


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cell:
    """What is generated in a cell.

    Attributes:
        size: The model.
        precision: One of `driver.PRECISIONS` or "int4".
        threads: Threads of each engine.
        search: One of `engine.SEARCHES`.
        prompt: Tokens read before the first new one.
        batch: Prompts at a time.
        length: New tokens.
    """

    size: DecoderSize
    precision: str
    threads: int
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
    cells: Sequence[Cell], workers: Mapping[str, Worker], folder: Path, rounds: int
) -> Iterator[dict[str, Any]]:
    """Measures cells of one size and one number of threads.

    Args:
        cells: What to measure; those of a precision stand together.
        workers: `OURS`, peers by `peer_name`, and maybe `SPLIT`.
        folder: From `Maker.make`.
        rounds: Turns of each engine.

    Yields:
        For each cell that a peer has the fields of `measure_cell`, and "float32_equal", the share
        of prompts with the same greedy ids from ours and from peers in float32.

    Raises:
        ValueError: Greedy float32 ids differ; see `check_ids`.
    """
    exact = having(workers, PEERS, folder, "float32")
    load_all(exact, folder, "float32")
    equal: dict[tuple[int, int], float] = {}
    for cell in cells:
        if (cell.prompt, cell.batch) not in equal:
            asked = dataclasses.replace(cell, precision="float32", search=GREEDY)
            equal[cell.prompt, cell.batch] = check_greedy(asked, exact)
    for precision, group in itertools.groupby(cells, key=lambda cell: cell.precision):
        present = having(workers, PEERS, folder, precision)
        if present.keys() == {OURS}:
            continue
        load_all(present, folder, precision)
        for cell in group:
            row = measure_cell(cell, present, rounds)
            yield {**row, "float32_equal": equal[cell.prompt, cell.batch]}


def check_greedy(cell: Cell, workers: Mapping[str, Worker]) -> float:
    """Returns the share of prompts that ours and each peer continue alike, of the one most unlike.

    Raises:
        ValueError: It is too small, of a peer that is exact; see `check_ids`.
    """
    ids = {name: worker.ask("generate", **cell.request) for name, worker in workers.items()}
    ours, shares = workers[OURS].name, [1.0]
    for name in ids.keys() - {OURS}:
        both = {ours: ids[OURS], workers[name].name: ids[name]}
        peer = PEERS.get(library_of(name))
        allowed = {} if peer is None or peer.is_exact else {"most_different": 1.0}
        shares.append(check_ids(cell.place, both, cell.length, **allowed))
    return min(shares)


def measure_cell(cell: Cell, workers: Mapping[str, Worker], rounds: int) -> dict[str, Any]:
    """Lets our engine and the peers take turns; all have the cell's model loaded.

    Returns:
        Which cell it is; `compare`'s fields in new tokens a second, the prompt's time included;
        "ratio_processor", the same ratio in processor time, to the peer that needs the least; the
        median "cpu_seconds" of a run by engine.
    """
    seconds, cpu = measure_turns(taking_part(workers, cell.batch), cell.request, rounds)
    whole = {name: used for name, used in cpu.items() if name != SPLIT}
    return {
        "size": cell.size.name,
        "precision": cell.precision,
        "threads": cell.threads,
        "search": cell.search,
        "prompt": cell.prompt,
        "batch": cell.batch,
        **compare(seconds, cell.tokens),
        "ratio_processor": compare(whole, cell.tokens)["ratio"],
        "cpu_seconds": {name: statistics.median(used) for name, used in cpu.items()},
    }
