"""The whole training benchmark on a model that takes seconds, and its command line."""

import importlib.util
import json
from pathlib import Path

import pytest
from fresh_process import run_script

FIELDS = {"size", "peer", "precision", "ours", "theirs", "ratio"}
# Compiling takes most of a minute for each shape: the engines without compilers are run.
ASKED = ("--size", "mini", "--precision", "float32", "--compiler", "off", "--repeats", "1")


@pytest.mark.exhaustive
def test_a_small_benchmark(benchmarks: Path, tmp_path: Path) -> None:
    places = ["--json", str(tmp_path / "out.json"), "--work", str(tmp_path / "work")]
    asked = [*ASKED, "--peers", "textbook", "--memory", "none", *places]
    done = run_script(benchmarks / "train.py", *asked)
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


@pytest.mark.exhaustive
def test_models_with_one_stack_are_trained_without_the_peer_that_has_none(
    benchmarks: Path, tmp_path: Path
) -> None:
    places = ["--json", str(tmp_path / "out.json"), "--work", str(tmp_path / "work")]
    asked = ["--size", "bert-mini,gpt2-mini", *ASKED[2:], "--peers", "textbook"]
    done = run_script(benchmarks / "train.py", *asked, "--memory", "none", *places)
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert [group["size"] for group in result["groups"]] == ["bert-mini", "gpt2-mini"]
    assert [list(group["engines"]) for group in result["groups"]] == [["ours, XLA off"]] * 2
    assert [stream["segmented"] for stream in result["pipelines"]] == ["once"] * 2


PACKAGES = {"pytorch": "torch", "keras-hub": "keras_hub"}


@pytest.mark.parametrize("size", ["mini", "bert-mini", "gpt2-mini"])
@pytest.mark.parametrize("peer", PACKAGES)
def test_further_peers(benchmarks: Path, tmp_path: Path, peer: str, size: str) -> None:
    pytest.importorskip(PACKAGES[peer])
    places = ["--json", str(tmp_path / "out.json"), "--work", str(tmp_path / "work")]
    asked = ["--size", size, *ASKED[2:], "--peers", peer]
    done = run_script(benchmarks / "train.py", *asked, "--memory", "none", *places)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["rows"]
    assert row["peer"] == peer


@pytest.mark.parametrize("peer", PACKAGES)
def test_a_peer_that_is_not_installed_is_named(benchmarks: Path, peer: str) -> None:
    if importlib.util.find_spec(PACKAGES[peer]) is not None:
        pytest.skip(f"{PACKAGES[peer]} is installed")
    done = run_script(benchmarks / "train.py", *ASKED, "--peers", peer)
    assert done.returncode == 1
    assert f"pip install {PACKAGES[peer].replace('_', '-')}" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--size", "huge"],
            "must be of tiny, base, bert-tiny, gpt2-tiny, mini, bert-mini, gpt2-mini, got 'huge'",
        ),
        (["--precision", "float16"], "must be of float32, mixed_bfloat16, got 'float16'"),
        (["--peers", "jax"], "must be of pytorch, keras-hub, textbook, got 'jax'"),
        (["--compiler", "xla"], "must be of off, on, got 'xla'"),
        (["--compiler", "none"], "need at least one name each"),
    ],
)
def test_a_wrong_option_is_named(benchmarks: Path, arguments: list[str], message: str) -> None:
    done = run_script(benchmarks / "train.py", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
