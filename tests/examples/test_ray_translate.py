"""examples/ray_translate.py: a killed job goes on with the blocks that are missing."""

import argparse
import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="needs the extra [ray]"
)

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "ray_translate.py"
LINES = [f"{word} {count}" for count in range(50) for word in ("ab", "ba", "abba", "a b a")]


@pytest.fixture(scope="module")
def artefact(random_model: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    from keras_transformer.export import export_onnx
    from keras_transformer.text.tokenizer import train_tokenizer

    path = tmp_path_factory.mktemp("ray") / "artefact"
    export_onnx(random_model(), train_tokenizer(LINES, 24), path)
    return path


@pytest.fixture
def start(artefact: Path, tmp_path: Path) -> Callable[..., subprocess.Popen]:
    """Starts the script on LINES in blocks of 20, with more options."""
    (tmp_path / "input.txt").write_text("".join(f"{line}\n" for line in LINES))

    def run(*options: str) -> subprocess.Popen:
        command = [str(SCRIPT), str(artefact), "input.txt", "output.txt", "--block-lines", "20"]
        return subprocess.Popen(
            [sys.executable, *command, *options],
            cwd=tmp_path,
            env={**os.environ, "HOME": str(tmp_path), "PYTHONPATH": ""},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return run


@pytest.fixture(scope="module")
def script() -> Any:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("ray_translate", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def given(tmp_path: Path) -> argparse.Namespace:
    """What the command line gives, for a text of two lines and an artefact as far as it is read."""
    (tmp_path / "manifest.json").write_text("{}")
    (tmp_path / "input.txt").write_text("a b\n" + "ab " * 5_000 + "\n")
    return argparse.Namespace(
        model=tmp_path, input=tmp_path / "input.txt", beam_size=1, block_lines=2
    )


def test_a_text_that_changed_but_kept_its_size_is_another_job(
    script: Any, given: argparse.Namespace, tmp_path: Path
) -> None:
    blocks = tmp_path / "blocks"
    for _ in range(2):
        script.open_job(script.describe_job(given), blocks)
    given.input.write_text(given.input.read_text().replace("a b", "b a"))
    with pytest.raises(ValueError, match=r"is of another job \(input_sha256\)"):
        script.open_job(script.describe_job(given), blocks)


def test_a_line_that_is_too_long_is_cut(
    script: Any, given: argparse.Namespace, artefact: Path, tmp_path: Path
) -> None:
    given.model = artefact
    translator = script.BlockTranslator(script.describe_job(given), str(tmp_path))
    translator({"block": [0], "offset": [0], "lines": [2]})
    assert len(script.block_path(tmp_path, 0).read_text().split("\n")) == 3


@pytest.mark.parametrize("flag", ["--block-lines", "--actors", "--beam-size"])
def test_a_number_that_is_none_is_refused_first(
    script: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any, flag: str
) -> None:
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), "model", "input", "output", flag, "0"])
    with pytest.raises(SystemExit):
        script.main()
    assert f"argument {flag}: must be a whole number above 0, got '0'" in capsys.readouterr().err


@pytest.mark.exhaustive
def test_a_killed_job_goes_on(
    start: Callable[..., subprocess.Popen], artefact: Path, tmp_path: Path
) -> None:
    from keras_transformer.export import OnnxTranslator

    blocks = tmp_path / "output.txt.blocks"
    job = start()
    while len(list(blocks.glob("*.txt"))) < 2:
        assert job.poll() is None, job.communicate()[1][-4000:]
        time.sleep(0.01)
    job.send_signal(signal.SIGKILL)
    job.communicate()
    assert not (tmp_path / "output.txt").exists()
    done = {path: path.stat().st_mtime_ns for path in blocks.glob("*.txt")}

    other = start("--beam-size", "2")
    assert "is of another job (beam_size)" in other.communicate()[1]
    assert other.returncode == 1

    job = start()
    output, errors = job.communicate(timeout=600)
    assert job.returncode == 0, errors[-4000:]
    lines = output.splitlines()
    assert lines[0].endswith("of 10 blocks were there already")
    assert int(lines[0].split()[0]) >= len(done)
    assert lines[-1].startswith("10 of 10 blocks")
    assert len(lines) == 11 - int(lines[0].split()[0])
    assert not blocks.exists()
    with OnnxTranslator(artefact) as translator:
        expected = translator.translate(LINES)
    assert (tmp_path / "output.txt").read_text().splitlines() == expected
