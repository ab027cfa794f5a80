"""The whole benchmark of precisions on a model that takes seconds."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.exhaustive
def test_a_small_benchmark(benchmarks: Path, tmp_path: Path) -> None:
    asked = ["--size", "mini", "--part", "encoder,beam4", "--batch", "1,2", "--repeats", "1"]
    done = subprocess.run(
        [sys.executable, str(benchmarks / "precisions.py"), *asked, "--work", str(tmp_path)],
        capture_output=True,
        text=True,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    _, *rows = done.stdout[done.stdout.index("|---") :].splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert [row[0] for row in cells] == [
        f"mini, {part}, {batch}" for part in ("encoder", "beam4") for batch in (1, 2)
    ]
    for _, *rates, ratios in cells:
        assert all(float(rate.replace(",", "")) > 0 for rate in rates)
        assert all(float(ratio) > 0 for ratio in ratios.split(", ")) and len(rates) == 3
