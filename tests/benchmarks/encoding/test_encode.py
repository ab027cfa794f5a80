"""The whole benchmark of encoders on a model that takes seconds, and its command line."""

import importlib.util
import json
from pathlib import Path

import pytest
from encode import parse
from fresh_process import run_script

PEERS = "CTranslate2,onnxruntime" if importlib.util.find_spec("sympy") else "CTranslate2"


@pytest.mark.exhaustive
def test_a_small_benchmark(benchmarks: Path, tmp_path: Path) -> None:
    words = [first + second for first in "abcdefgh" for second in "ijklmnop"]
    lines = [" ".join(words[: 1 + n % 9]) for n in range(40)]
    (tmp_path / "real.txt").write_text("\n".join([*lines, " ".join(words)]) + "\n")
    asked = ["--size", "mini", "--batch", "2", "--length", "5,16", "--repeats", "1"]
    asked += ["--peers", PEERS, "--sentences", str(tmp_path / "real.txt"), "--most-sentences", "5"]
    places = ["--json", str(tmp_path / "out.json"), "--work", str(tmp_path / "work")]
    done = run_script(benchmarks / "encode.py", *asked, *places)
    assert done.returncode == 0, done.stderr
    cells = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["cells"]
    assert [(cell["precision"], cell["length"]) for cell in cells] == [
        (precision, length) for precision in ("float32", "int8") for length in ("5", "16", "real")
    ]
    for cell in cells:
        assert cell["ratio"] == pytest.approx(cell["ours"] / cell["peer"])
        assert {name.partition(" ")[0] for name in cell["peers"]} == set(PEERS.split(","))
        assert 0 <= cell["difference"] < 1e-3
        assert 0 <= cell["deviation"]["ours"] < 0.2
    assert done.stdout == (tmp_path / "out.md").read_text(encoding="utf-8") + "\n"
    assert done.stdout.count("| mini |") == 6
    assert "6 cells: lowest ratio" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--size", "huge"], "must be of bert-base, bert-tiny, minilm, modernbert, mini, got"),
        (["--size", "none"], "--size and --precision need at least one name each"),
        (["--length", "0"], "must be a whole number above 0, got '0'"),
        (["--peers", "none"], "nothing to compare with"),
        (["--peers", "openvino,vllm"], "openvino, sentence-transformers, got 'vllm'"),
        (["--run", "runs/minilm"], "--run needs --sentences"),
    ],
)
def test_a_wrong_option_is_named(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        parse(arguments)
    assert message in capsys.readouterr().err
