"""The whole benchmark on a model that takes seconds, and its command line."""

import json
from pathlib import Path

import pytest
from fresh_process import run_script

FIELDS = {"size", "batch", "search", "precision", "ours", "peer", "ratio"}


@pytest.mark.exhaustive
def test_a_small_benchmark(benchmarks: Path, tmp_path: Path) -> None:
    asked = ["--size", "mini", "--batch", "2", "--search", "greedy,beam4", "--repeats", "1"]
    places = ["--json", str(tmp_path / "out.json"), "--work", str(tmp_path / "work")]
    done = run_script(benchmarks / "decode.py", *asked, *places)
    assert done.returncode == 0, done.stderr
    cells = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["cells"]
    assert len(cells) == 4
    for cell in cells:
        assert FIELDS <= set(cell)
        assert cell["ratio"] == pytest.approx(cell["ours"] / cell["peer"])
        if cell["precision"] == "float32":
            assert cell["ours_agreement"] == cell["peer_agreement"] == 1
            assert cell["naive"] > 0
            assert cell["naive_agreement"] == cell["float32_equal"] == 1
            assert cell.get("keras_agreement") == (1 if cell["search"] == "greedy" else None)
    assert done.stdout == (tmp_path / "out.md").read_text(encoding="utf-8") + "\n"
    assert done.stdout.count("| mini |") == 4
    assert "4 cells: lowest ratio" in done.stdout


@pytest.mark.exhaustive
def test_a_small_benchmark_of_opening(benchmarks: Path, tmp_path: Path) -> None:
    work = ["--size", "mini", "--repeats", "1", "--work", str(tmp_path / "work")]
    done = run_script(benchmarks / "startup.py", *work)
    assert done.returncode == 0, done.stderr
    assert "Limit for ours, 0.5 s:" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--size", "huge"],
            "must be of tiny, small, base, opus, tiny11, student, t5, mini, got 'huge'",
        ),
        (["--search", "beam"], "search must be greedy, or beam and a size"),
        (["--batch", "0"], "must be a whole number above 0, got '0'"),
        (["--columns", "optimum"], "needs --optimum-python"),
        (["--size", "none"], "measures nothing"),
        (["--length", "none"], "--length none measures nothing: give --text"),
        (["--length", "own,0"], "must be a whole number above 0, got '0'"),
    ],
)
def test_a_wrong_option_is_named(benchmarks: Path, arguments: list[str], message: str) -> None:
    done = run_script(benchmarks / "decode.py", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
