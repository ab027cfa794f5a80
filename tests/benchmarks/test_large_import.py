"""`benchmarks/large_import.py` imports, exports and translates with a model of any size."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SIZES = {"--layers": 1, "--width": 32, "--hidden": 48, "--heads": 2, "--ids": 300}


@pytest.mark.exhaustive
def test_a_small_run_measures_every_command(benchmarks: Path, tmp_path: Path) -> None:
    sizes = [str(part) for pair in SIZES.items() for part in pair]
    script = [sys.executable, str(benchmarks / "large_import.py")]
    files = ["--work", str(tmp_path), "--json", str(tmp_path / "figures.json")]
    subprocess.run([*script, *files, *sizes], check=True)
    figures = json.loads((tmp_path / "figures.json").read_text())
    for command in ("import", "export_float32", "translate_float32", "translate_int8"):
        assert figures[command]["seconds"] > 0 and figures[command]["peak_bytes"] > 1e7
    assert 0 < figures["int8_bytes"] < figures["float32_bytes"]
