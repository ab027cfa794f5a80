"""The comparison with Bergamot: texts are translated in batches, and ratios are of CPU time."""

import beside_bergamot
import pytest
from beside_bergamot import Cell, report
from marian.engine import TextEngine


class Shouts(TextEngine):
    """Translates into capitals."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def load(self, folder: str, setting: list) -> None:
        """Needs nothing."""

    def run(self, texts: list[str]) -> list[str]:
        self.calls.append(len(texts))
        return [text.upper() for text in texts]


def test_texts_are_translated_so_many_a_call() -> None:
    engine = Shouts()
    assert engine.translate(["a", "b", "c"], 2) == ["A", "B", "C"]
    assert engine.calls == [2, 1]
    assert set(engine.measure(["a"], 1, 3)) == {"seconds", "cpu_seconds"}
    assert len(engine.calls) == 2 + 3


def test_a_row_has_medians_and_the_range_of_the_ratio() -> None:
    rates = {"ours": [300.0, 200.0, 400.0], "bergamot": [100.0, 200.0, 100.0]}
    cell = Cell(True, 4, 400, 20, 0.25, rates, rates)
    assert report([cell]).splitlines()[-1] == (
        "| yes | 4 | 400 | 300 | 100 | **3.00** (1.00–4.00) | 25% |"
    )


def test_a_missing_file_is_named(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    absent = str(tmp_path / "absent.en")
    words = ["--train", absent, absent, "--source", absent, "--pymarian", "x"]
    with pytest.raises(SystemExit, match=r"beside_bergamot.py: .*absent.en"):
        beside_bergamot.main([*words, "--bergamot-python", "x"])
