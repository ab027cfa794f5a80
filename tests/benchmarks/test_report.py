"""The tables and the verdict."""

from typing import Any

import pytest
from speed.report import decode_table, rates, split_note, text_table, verdict

CELL = {
    "size": "tiny",
    "length": 24,
    "threads": 2,
    "search": "beam4",
    "precision": "int8",
    "batch": 8,
    "ours": 2469.0,
    "peer": 1234.5,
    "peer_name": "1",
    "ratio": 2.0,
    "ratio_low": 1.9,
    "ratio_high": 2.125,
    "ratio_processor": 1.75,
    "ratio_split": 1.25,
    "memory_fraction": 0.125,
    "matrix_fraction": 0.5,
    "float32_equal": 63 / 64,
    "ours_agreement": 0.9,
    "peer_agreement": 0.75,
    "rates": {
        "bytes": {"8000000": 5e10, "160000000": 3e10},
        "multiply_adds": {"float32": 1.7e11, "int8": 6e11},
    },
}


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_line_for_each_cell() -> None:
    head, _, *lines = decode_table([CELL, {**CELL, "naive": 321.0}], ["naive"]).splitlines()
    assert len(cells_of(head)) == len(cells_of(lines[0]))
    assert cells_of(lines[0])[:11] == [
        *("tiny", "24", "2", "beam4", "int8", "8", "2,469", "1,234", "1", "**2.00**", "1.90–2.12"),
    ]
    assert cells_of(lines[0])[11:] == ["1.75", "1.25", "12%", "50%", "98.4%", "90%, 75%", "–"]
    assert cells_of(lines[1])[-1] == "321"


def test_a_line_for_each_row_of_real_text() -> None:
    row: dict[str, Any] = {**CELL, "bleu": {"ours": 38.8, "peer": 38.75}, "same": 0.985}
    head, _, line = text_table([row]).splitlines()
    assert len(cells_of(head)) == len(cells_of(line))
    assert cells_of(line)[-3:] == ["38.80", "38.75", "98.5%"]


@pytest.mark.parametrize(
    ("ratios", "must", "aim"),
    [
        ([1.25, 4.0], "reached", "reached"),
        ([1.0, 2.56], "reached", "missed"),
        ([0.99, 9.0], "missed", "missed"),
        ([1.5, 1.5], "missed", "missed"),
    ],
)
def test_the_verdict_needs_every_cell_and_the_mean(
    ratios: list[float], must: str, aim: str
) -> None:
    text = verdict(ratios)
    assert f"Must (≥ 1.0, ≥ 1.6): {must}" in text
    assert f"Aim (≥ 1.25, ≥ 2.0): {aim}" in text


def test_the_mean_is_geometric() -> None:
    assert "lowest ratio 1.00, geometric mean 2.00" in verdict([1.0, 4.0])


def test_what_splitting_batches_would_do_is_told() -> None:
    alone = {name: value for name, value in CELL.items() if name != "ratio_split"}
    text = split_note([CELL, {**CELL, "ratio_split": 5.0}, alone])
    assert "lowest 1.25, geometric mean 2.50 of 2 cells" in text
    assert "No batch" in split_note([alone])


def test_the_machines_rates_are_named() -> None:
    text = rates([CELL])
    assert "50 GB/s over 8.0 MB, 30 GB/s over 160.0 MB" in text
    assert "170 G/s in float32, 600 G/s in int8" in text
