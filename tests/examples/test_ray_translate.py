"""examples/ray_translate.py: a killed job goes on with the blocks that are missing."""

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
            env={**os.environ, "HOME": str(tmp_path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return run


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
