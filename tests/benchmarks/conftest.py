"""Makes the benchmarks' parts importable, as `python benchmarks/decode.py` does."""

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))


@pytest.fixture(scope="session")
def benchmarks() -> Path:
    """The folder of the scripts."""
    return BENCHMARKS
