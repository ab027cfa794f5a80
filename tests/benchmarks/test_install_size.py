"""`benchmarks/install_size.py`: all extras are weighed, and docs/results has the figures."""

import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from keras_transformer.distribution import DISTRIBUTION

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "benchmarks" / "install_size.py"
PAGE = ROOT / "docs" / "results" / "startup_and_install.md"


@pytest.fixture(scope="module")
def measured() -> dict[str, tuple[int, int]]:
    """Packages and megabytes of the bare install and of each extra."""
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()[:-1]]
    return {row[0]: (int(row[1]), int(row[3])) for row in rows}


@pytest.mark.exhaustive
def test_every_extra_is_weighed(measured: dict[str, tuple[int, int]]) -> None:
    extras = set(metadata.metadata(DISTRIBUTION).get_all("Provides-Extra")) - {"dev"}
    assert set(measured) == extras | {"bare"}
    assert all(measured["bare"][1] <= megabytes for _, megabytes in measured.values())
    packages = [measured[name][0] for name in ("bare", "cli", "serve", "grpc")]
    assert packages == sorted(set(packages))


@pytest.mark.exhaustive
def test_the_results_say_what_they_weigh(measured: dict[str, tuple[int, int]]) -> None:
    """Up to a tenth: versions differ from one lock file to the next."""
    text = PAGE.read_text(encoding="utf-8")
    names, packages, megabytes = (
        [cell.strip(" `").replace(",", "") for cell in row.split("|")[2:-1]]
        for row in re.findall(r"^\| \| bare .*|^\| packages .*|^\| MB .*", text, re.MULTILINE)
    )
    assert names == list(measured)
    for told, found in zip(
        (packages, megabytes), zip(*measured.values(), strict=True), strict=True
    ):
        assert [int(number) for number in told] == pytest.approx(list(found), rel=0.1)
