"""examples/notebooks: every cell runs, its numbers hold, and no picture stays open."""

import re
from pathlib import Path

import pytest
from fresh_process import python

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.py"))
# The others train for longer, or several models; `make docs` runs all.
QUICK = [FOLDER / "how_it_works.py"]
# All in one process, which imports TensorFlow once; a picture that stays open is named.
RUN_ALL = """
import runpy, sys
import matplotlib.pyplot as plt

for path in sys.argv[1:]:
    runpy.run_path(path, run_name="__main__")
    if plt.get_fignums():
        raise RuntimeError(f"{path} leaves pictures open")
    print(f"ran {path}")
"""


def cells(path: Path) -> list[tuple[str, str]]:
    """Returns the kind of each cell, "markdown" or "code", with its text."""
    _, *parts = re.split(r"^# %%(.*)\n", path.read_text("utf-8"), flags=re.MULTILINE)
    kinds = ["markdown" if "[markdown]" in kind else "code" for kind in parts[::2]]
    return list(zip(kinds, parts[1::2], strict=True))


@pytest.mark.parametrize(
    "paths",
    [
        pytest.param(QUICK, id="quick"),
        pytest.param(sorted({*NOTEBOOKS} - {*QUICK}), marks=pytest.mark.exhaustive, id="rest"),
    ],
)
def test_every_cell_of_every_notebook_runs(paths: list[Path]) -> None:
    # An empty path hides no Matplotlib.
    environment = {"MPLBACKEND": "agg", "PYTHONPATH": "", "TF_CPP_MIN_LOG_LEVEL": "3"}
    result = python("-c", RUN_ALL, *paths, **environment)
    assert result.stdout.count("ran ") == len(paths)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_begins_with_its_title_and_has_no_empty_cell(path: Path) -> None:
    (kind, first), *_ = found = cells(path)
    assert kind == "markdown"
    assert re.match(r"# # \w", first)
    assert [number for number, (_, text) in enumerate(found) if not text.strip("# \n")] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_checks_its_numbers(path: Path) -> None:
    code = [text for kind, text in cells(path) if kind == "code"]
    assert sum("assert " in text for text in code) >= len(code) / 3


def test_the_list_names_every_notebook_once() -> None:
    listed = re.findall(r"\((\w+\.py)\)", (FOLDER / "README.md").read_text("utf-8"))
    assert sorted(listed) == [path.name for path in NOTEBOOKS]
