"""The whole training benchmark on a model that takes seconds, and its command line."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FIELDS = {"size", "peer", "precision", "ours", "theirs", "ratio"}
# Compiling takes most of a minute for each shape: the engines without compilers are run.
ASKED = ("--size", "mini", "--precision", "float32", "--compiler", "off", "--repeats", "1")


def run(script: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(script), *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        timeout=900,
    )


def test_a_small_benchmark(benchmarks: Path, tmp_path: Path) -> None:
    places = ["--json", str(tmp_path / "out.json"), "--work", str(tmp_path / "work")]
    asked = [*ASKED, "--peers", "textbook", "--memory", "none", *places]
    done = run(benchmarks / "train.py", *asked)
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    (row,) = result["rows"]
    assert FIELDS <= set(row)
    assert (row["size"], row["peer"], row["precision"]) == ("mini", "textbook", "float32")
    assert row["ratio"] == pytest.approx(row["ours"] / row["theirs"])
    (group,) = result["groups"]
    assert set(group["engines"]) == {"ours, XLA off", "textbook, XLA off"}
    for engine in group["engines"].values():
        assert engine["parameters"] == group["engines"]["ours, XLA off"]["parameters"]
        assert engine["last_loss"] < engine["first_loss"]
        assert engine["peak_memory"] > 1e8
    assert [stream["segmented"] for stream in result["pipelines"]] == ["once", "anew"]
    for stream in result["pipelines"]:
        assert 0 <= stream["padding_fraction"] < 1
        assert stream["times_training"] > 0
        assert 0 < stream["shapes"] <= stream["batches"]
    assert done.stdout == (tmp_path / "out.md").read_text(encoding="utf-8") + "\n"
    assert "1 rows: lowest ratio" in done.stdout


@pytest.mark.parametrize(("peer", "package"), [("pytorch", "torch"), ("keras-hub", "keras_hub")])
def test_further_peers(benchmarks: Path, tmp_path: Path, peer: str, package: str) -> None:
    places = ["--json", str(tmp_path / "out.json"), "--work", str(tmp_path / "work")]
    done = run(benchmarks / "train.py", *ASKED, "--peers", peer, "--memory", "none", *places)
    if importlib.util.find_spec(package) is None:
        assert done.returncode == 1
        assert f"pip install {package.replace('_', '-')}" in done.stderr
        pytest.skip(f"{package} is not installed")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["rows"]
    assert row["peer"] == peer


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--size", "huge"], "must be of tiny, base, mini, got 'huge'"),
        (["--precision", "float16"], "must be of float32, mixed_bfloat16, got 'float16'"),
        (["--peers", "jax"], "must be of pytorch, keras-hub, textbook, got 'jax'"),
        (["--compiler", "xla"], "must be of off, on, got 'xla'"),
        (["--compiler", "none"], "need at least one name each"),
    ],
)
def test_a_wrong_option_is_named(benchmarks: Path, arguments: list[str], message: str) -> None:
    done = run(benchmarks / "train.py", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
