"""tools/compare.py: a checkout equals itself, and other ids are told."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools.compare import differing, table_searches

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.exhaustive
def test_a_checkout_equals_itself(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tools.compare", str(ROOT), str(ROOT)]
    command += ["--work", str(tmp_path), "--sizes", "tiny", "--norms", "pre", "--shares", "none"]
    command += ["--targets", "native", "--precisions", "int8"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    first, last = done.stdout.splitlines()
    assert first.startswith(f"tiny-pre-none native int8: {len(table_searches())} searches, export")
    assert last.startswith("0 searches differ; exports took ")


def test_searches_with_other_ids_are_told() -> None:
    searches = [{"beam_size": 1}, {"beam_size": 2}, {"beam_size": 3}]
    old, new = [[[[5]]], [[[6]]], [[[7], [8]]]], [[[[5]]], [[[9]]], [[[7], [8]]]]
    assert differing(searches, old, new) == [{"beam_size": 2}]


def test_the_searches_are_those_of_the_table() -> None:
    searches = table_searches()
    assert len(searches) > 50
    assert len({tuple(sorted(map(str, search.items()))) for search in searches}) == len(searches)
    assert all(search["min_length"] >= 0 and "max_length" in search for search in searches)
