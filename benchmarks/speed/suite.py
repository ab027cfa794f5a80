"""The whole measurement of one model size: exports are made, float32 ids compared, cells measured
one after the other.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from driver import load_all

from . import artefacts
from .cells import (
    OURS,
    Cell,
    agreement,
    check_float32,
    first_tokens,
    measure_cell,
    measure_column,
)
from .limits import Limits
from .processes import Worker

# Keras runs the whole model for every token: larger batches would take minutes and say no more.
_KERAS_MOST_SENTENCES = 8


def measure_size(
    cells: Sequence[Cell],
    workers: Mapping[str, Worker],
    columns: Mapping[str, Worker],
    work: Path,
    rounds: int,
    target: str = artefacts.FASTEST,
) -> Iterator[dict[str, Any]]:
    """Measures cells of one size.

    Args:
        cells: What to measure, of one length or one text.
        workers: `OURS` and one or more peers.
        columns: Further engines by the columns' names; measured in float32 only.
        work: Where exports are kept.
        rounds: Turns of each engine.
        target: What our graphs are exported for.

    Yields:
        For each cell the fields of `measure_cell` and `Limits`; "float32_equal", the share of
        sentences with the same float32 ids from ours and the peer; "ours_agreement" and
        "peer_agreement", the share of sentences whose first token is that of float32; the
        columns' tokens a second and their ids' agreement with the cell's.

    Raises:
        ValueError: Float32 ids differ; see `check_float32`.
    """
    size = cells[0].size
    name = size.name if size.text is None else f"{size.name}{artefacts.ENDING}"
    folder = artefacts.size_folder(work, name)
    artefacts.make(folder, _parts(cells, columns, target), size=name)
    limits = Limits(cells)
    load_all(workers, folder, "float32")
    peer = next(worker for name, worker in workers.items() if name != OURS)
    expected = {
        (search, batch): check_float32(Cell(size, batch, search, "float32"), workers[OURS], peer)
        for search, batch in dict.fromkeys((cell.search, cell.batch) for cell in cells)
    }
    both = {"ours": workers[OURS], "peer": peer}
    probes = {name: first_tokens(size, worker) for name, worker in both.items()}
    for precision, group in itertools.groupby(cells, key=lambda cell: cell.precision):
        load_all(workers, folder, precision)
        if precision == "float32":
            load_all(columns, folder, precision)
        agreements = {
            f"{name}_agreement": agreement(first_tokens(size, worker), probes[name])
            for name, worker in both.items()
        }
        for cell in group:
            row = {**measure_cell(cell, workers, rounds), **agreements, "rates": limits.rates}
            row.update(limits.fields(cell, row["ours"]))
            if precision.startswith("float32+") and cell.batch == 1:
                # More sentences share their lists in CTranslate2, but not here.
                check_float32(cell, workers[OURS], peer)
            ids, row["float32_equal"] = expected[cell.search, cell.batch]
            row.update(_measure_columns(cell, columns, ids))
            yield row


def _parts(cells: Sequence[Cell], columns: Mapping[str, Worker], target: str) -> list[str]:
    precisions = {"float32", *(cell.precision for cell in cells)}
    return artefacts.both(precisions, target) + [artefacts.NAIVE] * ("naive" in columns)


def _measure_columns(
    cell: Cell, columns: Mapping[str, Worker], expected: list[list[int]]
) -> dict[str, float]:
    found = {}
    for name, worker in columns.items() if cell.precision == "float32" else ():
        if name == "keras" and (cell.beam_size > 1 or cell.batch > _KERAS_MOST_SENTENCES):
            continue
        found[name], ids = measure_column(cell, worker)
        if name != "optimum":  # It has other weights.
            found[f"{name}_agreement"] = agreement(ids, expected)
    return found
