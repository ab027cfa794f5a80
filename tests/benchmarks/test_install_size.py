"""`benchmarks/install_size.py`: all extras are weighed."""

import subprocess
import sys
from importlib import metadata
from pathlib import Path

from keras_transformer.distribution import DISTRIBUTION

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "install_size.py"


def test_every_extra_is_weighed() -> None:
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    packages = {row[0]: int(row[1]) for row in rows}
    sizes = {row[0]: int(row[3]) for row in rows}
    extras = set(metadata.metadata(DISTRIBUTION).get_all("Provides-Extra")) - {"dev"}
    assert set(sizes) == extras | {"bare"}
    assert all(sizes["bare"] <= size for size in sizes.values())
    assert packages["bare"] < packages["cli"] < packages["serve"] < packages["grpc"]
