"""docs/serving.md and docs/openai.md: their curl commands and programs are answered by the server
that stands before them.
"""

import contextlib
import io
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
OURS = (DOCS / "serving.md").read_text("utf-8").partition("## TensorFlow Serving")[0]
CLIENTS = (DOCS / "openai.md").read_text("utf-8")
SERVE = "keras-transformer serve "
# What programs of OURS connect to is gRPC, which other tests ask.
BLOCKS = {OURS: "bash", CLIENTS: "bash|python"}


def sessions(page: str) -> dict[str, list[str]]:
    """Each `serve` of a page, and the requests between it and the next one."""
    found: dict[str, list[str]] = {}
    for kind, block in re.findall(rf"```({BLOCKS[page]})\n(.*?)```", page, flags=re.DOTALL):
        if kind == "python":
            found[list(found)[-1]].append(block)
            continue
        for command in block.replace("\\\n", " ").splitlines():
            if command.startswith(SERVE):
                found[command] = []
            elif "curl" in command:
                found[list(found)[-1]].append(command)
    return found


@pytest.fixture
def _folders(exported: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The models, the file of models and the catalogue that the page of our server speaks of."""
    for version in ("demo/1", "demo/2", "english-spanish/1", "english-spanish/2", "back/1"):
        shutil.copytree(exported.path, tmp_path / "exported" / version)
    [config] = re.findall(r"```textproto\n(.*?)```", OURS, flags=re.DOTALL)
    config = config.replace("/models/spanish-english", "back")
    (tmp_path / "exported" / "models.config").write_text(config, "utf-8")
    (tmp_path / "de.po").write_text('msgid "hello you"\nmsgstr ""\n', "utf-8")
    monkeypatch.chdir(tmp_path)


@contextlib.contextmanager
def serving(command: str) -> Iterator[str]:
    """Runs a `serve` of the page on free ports; gives the address of its REST side."""
    arguments = shlex.split(re.sub(r"port \d+", "port 0", command))[1:]
    if "--port" not in arguments:
        arguments += ["--port", "0"]
    run = [sys.executable, "-m", "keras_transformer", *arguments]
    with subprocess.Popen(run, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            found = re.search(r"http://[\d.]+:\d+", line)
            assert found, line
            yield found[0]
        finally:
            process.terminate()


def check(requests: list[str], address: str) -> None:
    """Sends requests, each a curl command or a program, to a server in place of the page's."""
    assert requests
    for request in requests:
        request = request.replace("http://localhost:8501", address)
        if "curl " not in request:
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(request, "docs/openai.md", "exec"), {})
            assert printed.getvalue().strip()
            continue
        request = request.replace("curl ", "curl --silent --show-error --fail-with-body ")
        result = subprocess.run(["bash", "-c", request], capture_output=True, text=True, timeout=60)
        assert result.returncode == 0, (request, result.stdout, result.stderr)
        assert result.stdout and '"error"' not in result.stdout


@pytest.mark.usefixtures("_folders")
@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
@pytest.mark.parametrize(("serve", "requests"), sessions(OURS).items())
def test_curl_is_answered(serve: str, requests: list[str]) -> None:
    with serving(serve) as address:
        check(requests, address)


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
@pytest.mark.parametrize(("serve", "requests"), sessions(CLIENTS).items())
def test_stock_clients_are_answered(
    serve: str,
    requests: list[str],
    family_artefact: Callable[[Any], Path],
    chat_artefact: Path,
    adapted_decoder: Any,
    exported: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for client in ("cohere", "libretranslatepy", "openai"):
        pytest.importorskip(client, reason=f"the package {client} is not installed")
    models: dict[str, Callable[[], Path]] = {
        "qwen": lambda: family_artefact("decoder"),
        "chatting": lambda: chat_artefact,
        "minilm": lambda: family_artefact("embedding"),
        "languages": lambda: family_artefact("languages"),
        "reranker": lambda: family_artefact("regression"),
        "demo": lambda: exported.path,
        "adapting": lambda: adapted_decoder.path,
    }
    [name] = re.findall(r"exported/(\w+)", serve)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(models[name](), tmp_path / "exported" / name)
    for file in re.findall(r"--adapter \w+=(\S+)", serve):
        Path(file).parent.mkdir(parents=True)
        shutil.copy(adapted_decoder.files["first"], file)
    with serving(serve) as address:
        check(requests, address)
