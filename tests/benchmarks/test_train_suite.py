"""What is compared in the training benchmark, and what is refused as not the same work."""

from pathlib import Path
from typing import Any

import pytest
from training import suite
from training.suite import (
    ENGINES,
    OURS,
    SAVINGS,
    check_installed,
    check_same_work,
    row,
    step_memory,
    variant,
)

PARAMETERS = 1000


def engine(*rates: float, **fields: Any) -> dict[str, Any]:
    usual = {"parameters": PARAMETERS, "first_loss": 9.0, "last_loss": 8.0}
    return {"rates": rates, "rate": sorted(rates)[len(rates) // 2], **usual, **fields}


def engines(**textbook: Any) -> dict[tuple[str, bool], dict[str, Any]]:
    return {
        (OURS, False): engine(200.0, 220.0, 240.0),
        (OURS, True): engine(300.0, 330.0, 360.0),
        ("textbook", False): engine(100.0, 110.0, 120.0, **textbook),
        ("textbook", True): engine(50.0, 50.0, 50.0),
    }


def test_the_better_variants_are_compared() -> None:
    found = row("tiny", "float32", "textbook", engines())
    assert (found["ours"], found["ours_variant"]) == (330.0, "XLA on")
    assert (found["theirs"], found["theirs_variant"]) == (110.0, "XLA off")
    assert found["ratio"] == 3.0
    assert (found["ratio_low"], found["ratio_high"]) == pytest.approx((3.0, 3.0))


def named(**textbook: Any) -> dict[str, dict[str, Any]]:
    return {f"{name}, {variant(name, xla)}": e for (name, xla), e in engines(**textbook).items()}


def test_the_same_work_is_accepted() -> None:
    check_same_work(named(), PARAMETERS)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"parameters": 1001}, "textbook, XLA off has 1,001 parameters, not 1,000"),
        ({"first_loss": 9.5}, "textbook, XLA off starts with a loss of 9.50, ours 9.00"),
        ({"last_loss": 9.0}, "does not learn: its loss on the first batch went from 9.00 to 9.00"),
        ({"last_loss": float("nan")}, "does not learn"),
    ],
)
def test_other_work_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_same_work(named(**fields), PARAMETERS)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    check_installed(["textbook"])
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ValueError, match="pip install keras-hub`, or leave the peer out"):
        check_installed(["keras-hub"])


class FakeWorker:
    """A process that notes what it is asked."""

    asked: list[str] = []

    def __enter__(self) -> "FakeWorker":
        return self

    def __exit__(self, *error: object) -> None:
        self.asked.append("ended")

    def ask(self, do: str, **arguments: Any) -> int:
        self.asked.append(arguments.get("precision", do))
        return 5_000_000_000


def test_memory_is_measured_in_a_process_for_each_precision_and_saving(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made: list[Any] = []
    monkeypatch.setattr(suite, "make_batches", lambda *order, **further: made.append(order))
    started: list[dict[str, Any]] = []
    monkeypatch.setattr(
        suite, "start", lambda name, compiled, **changes: started.append(changes) or FakeWorker()
    )
    precisions = ["float32", "mixed_bfloat16"]
    found = list(step_memory("base", precisions, tmp_path, None))
    assert made == [(tmp_path / "memory-base.npz", "base", 4096, 1, None)]
    assert [(memory["precision"], memory["saving"]) for memory in found] == [
        (precision, saving) for precision in precisions for saving in SAVINGS
    ]
    assert started == [*SAVINGS.values()] * 2
    assert {memory["peak_memory"] for memory in found} == {5_000_000_000}
    assert FakeWorker.asked == [
        asked
        for precision in precisions
        for _ in SAVINGS
        for asked in (precision, "measure", "peak_memory", "ended")
    ]


def test_every_engine_has_a_file(benchmarks: Any) -> None:
    for name, peer in ENGINES.items():
        assert (benchmarks / "training" / "peers" / f"{peer.module}.py").is_file(), name
