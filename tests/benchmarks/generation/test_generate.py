"""The whole benchmark of decoders on a model that takes seconds, and its command line."""

import json
from pathlib import Path

import pytest
from fresh_process import run_script
from generate import main, parse


@pytest.mark.exhaustive
def test_a_small_benchmark(benchmarks: Path, tmp_path: Path) -> None:
    asked = ["--size", "mini", "--batch", "2", "--prompt", "5", "--new-tokens", "6"]
    places = ["--json", str(tmp_path / "out.json"), "--work", str(tmp_path / "work")]
    searches = ("greedy", "sampled", "beam4")
    asked += ["--search", ",".join(searches)]
    done = run_script(benchmarks / "generate.py", *asked, "--repeats", "1", *places)
    assert done.returncode == 0, done.stderr
    cells = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["cells"]
    assert [(cell["precision"], cell["search"]) for cell in cells] == [
        (precision, search) for precision in ("float32", "int8") for search in searches
    ]
    for cell in cells:
        assert cell["ratio"] == pytest.approx(cell["ours"] / cell["peer"])
        assert cell["float32_equal"] == 1
    assert done.stdout == (tmp_path / "out.md").read_text(encoding="utf-8") + "\n"
    assert done.stdout.count("| mini |") == 6
    assert "6 cells: lowest ratio" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--size", "huge"],
            "must be of gpt2, gpt2-tiny, llama, qwen, mini-llama, mini, got 'huge'",
        ),
        (["--search", "beam5"], "must be of greedy, sampled, beam4, got 'beam5'"),
        (["--search", "none"], "need at least one name each"),
        (["--peers", "vllm"], "must be of ctranslate2, openvino, ort-genai, llama.cpp, got 'vllm'"),
        (["--peers", "openvino"], "only ctranslate2 has other searches: give --search greedy"),
        (["--run", "runs/gpt"], "--run and --text need each other"),
        (["--peers", "none"], "nothing to compare with: name --peers"),
        (["--batch", "0"], "must be a whole number above 0, got '0'"),
    ],
)
def test_a_wrong_option_is_named(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        parse(arguments)
    assert message in capsys.readouterr().err


def test_quality_may_be_measured_alone() -> None:
    assert parse(["--size", "none", "--run", "runs/gpt", "--text", "texts.en"]).size == []


def test_a_prompt_that_does_not_fit_ends_the_benchmark() -> None:
    with pytest.raises(SystemExit, match=r"generate.py: mini has 64 positions"):
        main(["--size", "mini", "--prompt", "64"])
