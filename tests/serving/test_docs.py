"""docs/serving.md: its curl commands are answered by the server that stands before them."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).resolve().parents[2].joinpath("docs", "serving.md").read_text("utf-8")
OURS = PAGE[: PAGE.index("## TensorFlow Serving")]
SERVE = "keras-transformer serve "


def sessions() -> dict[str, list[str]]:
    """Each `serve` of the page, and the requests between it and the next one."""
    found: dict[str, list[str]] = {}
    for block in re.findall(r"```bash\n(.*?)```", OURS, flags=re.DOTALL):
        for command in block.replace("\\\n", " ").splitlines():
            if command.startswith(SERVE):
                found[command] = []
            elif "curl" in command:
                found[list(found)[-1]].append(command)
    return found


@pytest.fixture
def _folders(exported: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The models and the file of models that the page speaks of."""
    for version in ("demo/1", "demo/2", "english-spanish/1", "english-spanish/2", "back/1"):
        shutil.copytree(exported.path, tmp_path / "exported" / version)
    [config] = re.findall(r"```textproto\n(.*?)```", OURS, flags=re.DOTALL)
    config = config.replace("/models/spanish-english", "back")
    (tmp_path / "exported" / "models.config").write_text(config, "utf-8")
    monkeypatch.chdir(tmp_path)


@contextmanager
def serving(command: str) -> Iterator[str]:
    """Runs a `serve` of the page on free ports; gives the address of its REST side."""
    arguments = shlex.split(re.sub(r"port \d+", "port 0", command))[1:]
    if "--port" not in arguments:
        arguments += ["--port", "0"]
    run = [sys.executable, "-m", "keras_transformer.cli", *arguments]
    with subprocess.Popen(run, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            found = re.search(r"http://[\d.]+:\d+", line)
            assert found, line
            yield found[0]
        finally:
            process.terminate()


@pytest.mark.usefixtures("_folders")
@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
@pytest.mark.parametrize(("serve", "requests"), sessions().items())
def test_curl_is_answered(serve: str, requests: list[str]) -> None:
    assert requests
    with serving(serve) as address:
        for request in requests:
            request = request.replace("http://localhost:8501", address)
            request = request.replace("curl ", "curl --silent --show-error --fail-with-body ")
            result = subprocess.run(
                ["bash", "-c", request], capture_output=True, text=True, timeout=60
            )
            assert result.returncode == 0, (request, result.stdout, result.stderr)
            assert result.stdout and '"error"' not in result.stdout
