"""examples/fit.py: the parts of the package compose in plain `compile` and `fit`."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "fit.py"


def test_the_example_trains_and_translates() -> None:
    result = subprocess.run(
        [sys.executable, str(SCRIPT), "--pairs", "400", "--epochs", "2"],
        capture_output=True,
        text=True,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    perplexities = [
        float(line.split("val_perplexity: ")[1].split()[0])
        for line in lines
        if "val_perplexity" in line
    ]
    assert len(perplexities) == 2
    assert perplexities[1] < perplexities[0]
    assert sum(" -> " in line for line in lines) == 3
