"""The whole benchmark of precisions on a model that takes seconds."""

from pathlib import Path

import pytest
from fresh_process import run_script


@pytest.mark.exhaustive
def test_a_small_benchmark(benchmarks: Path, tmp_path: Path) -> None:
    asked = ["--size", "mini", "--part", "encoder,beam4", "--batch", "1,2", "--repeats", "1"]
    done = run_script(benchmarks / "precisions.py", *asked, "--work", tmp_path)
    assert done.returncode == 0, done.stderr
    _, *rows = done.stdout[done.stdout.index("|---") :].splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert [row[0] for row in cells] == [
        f"mini, {part}, {batch}" for part in ("encoder", "beam4") for batch in (1, 2)
    ]
    for _, *rates, ratios in cells:
        assert all(float(rate.replace(",", "")) > 0 for rate in rates)
        assert all(float(ratio) > 0 for ratio in ratios.split(", ")) and len(rates) == 3
