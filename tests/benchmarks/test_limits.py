"""The machine's rates, and what they allow a cell."""

from typing import Any

import pytest
from speed import limits
from speed.cells import Cell
from speed.costs import costs
from speed.machine import measure_machine
from speed.sizes import SIZES

MINI = SIZES["mini"]


@pytest.mark.exhaustive
def test_the_machine_is_measured() -> None:
    rates = measure_machine([1 << 16, 1 << 22])
    assert set(rates["bytes"]) == {"65536", "4194304"}
    assert set(rates["multiply_adds"]) == {"float32", "int8"}
    assert min(*rates["bytes"].values(), *rates["multiply_adds"].values()) > 1e8


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that reads 1 GB/s and does 2e9 multiply-adds, twice as many in int8."""

    def rates(sizes: list[int]) -> dict[str, Any]:
        return {
            "bytes": {str(size): 1e9 for size in sizes},
            "multiply_adds": {"float32": 2e9, "int8": 4e9},
        }

    monkeypatch.setattr(limits, "measure_machine", rates)


@pytest.mark.parametrize(("precision", "size", "rate"), [("float32", 4, 2e9), ("int8", 1, 4e9)])
@pytest.mark.usefixtures("scripted")
def test_limits_are_rates_over_costs(precision: str, size: int, rate: float) -> None:
    cell = Cell(MINI, 8, "beam4", precision)
    cost = costs(MINI.config, MINI.source_tokens, MINI.target_tokens, 4)
    found = limits.Limits([cell]).fields(cell, 1000.0)
    assert found["memory_limit"] == pytest.approx(8 * 1e9 / (size * cost.weights), rel=1e-3)
    assert found["matrix_limit"] == pytest.approx(rate / cost.multiply_adds)
    assert found["memory_fraction"] == pytest.approx(1000 / found["memory_limit"])
    assert found["matrix_fraction"] == pytest.approx(1000 / found["matrix_limit"])
    assert found["matrix_rate"] == precision
