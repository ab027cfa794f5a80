"""A server in a process of its own: started, asked for its batch sizes, ended."""

import re
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from speed.artefacts import environment
from speed.processes import settle

MODEL_NAME = "benchmark"
_ADDRESS = re.compile(r"http://[\d.]+:(\d+)")
_SAMPLE = re.compile(r"^(\w*batch_size\w*)_(sum|count)(?:\{[^}]*\})? (\S+)$", re.MULTILINE)
_PATIENCE_SECONDS = 30
_TAIL_CHARACTERS = 2000


class Server:
    """A running server; to be used in a `with` statement, which ends it.

    Args:
        name: What messages call it.
        arguments: Arguments of the interpreter.

    Attributes:
        port: Where it listens on the loopback interface.

    Raises:
        RuntimeError: It ended, or said something else than its address; the message holds the end
            of what it wrote to its error stream.
    """

    def __init__(self, name: str, arguments: Sequence[str]) -> None:
        self.name = name
        # Logs are part of what a server does, but not of what a benchmark shows.
        self._log = tempfile.TemporaryFile(mode="w+", encoding="utf-8")
        self._process = subprocess.Popen(
            [sys.executable, *arguments],
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env=environment(),
        )
        line = self._process.stdout.readline()
        address = _ADDRESS.search(line)
        if address is None:
            self.__exit__()
            raise RuntimeError(
                f"{name} gave no address but {line!r}; its last messages:\n{self.log}"
            )
        self.port = int(address[1])

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *error: object) -> None:
        self.end()
        self._process.stdout.close()
        self._log.flush()
        self._log.seek(0)
        self.log = self._log.read()[-_TAIL_CHARACTERS:]
        self._log.close()

    def settle(self) -> None:
        """Waits until none of its threads runs."""
        settle(self._process.pid, self.name)

    def end(self, number: int = signal.SIGTERM) -> int:
        """Ends it with a signal, and returns its exit status."""
        self._process.send_signal(number)
        try:
            self._process.wait(_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        return self._process.returncode

    def memory(self, part: str = "VmRSS") -> int:
        """Returns the bytes of memory that it has in use: all, or as `part` "RssAnon" its own."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="utf-8")
        return 1024 * int(re.search(rf"{part}:\s+(\d+)", status)[1])

    def batches(self) -> tuple[float, float]:
        """Returns the batches made so far and the sentences in them; zeros if it reports none."""
        address = f"http://127.0.0.1:{self.port}/metrics"
        try:
            with urllib.request.urlopen(address, timeout=_PATIENCE_SECONDS) as answer:
                text = answer.read().decode("utf-8")
        except urllib.error.HTTPError:
            return 0, 0
        found: dict[str, float] = {"count": 0, "sum": 0}
        for _, kind, value in _SAMPLE.findall(text):
            found[kind] += float(value)
        return found["count"], found["sum"]


def our_server(artefact: Path, *more: str) -> Server:
    """Starts `keras-transformer serve` with its defaults, or with more options."""
    options = ["--model-name", MODEL_NAME, "--port", "0", *more]
    return Server("ours", ["-m", "keras_transformer", "serve", str(artefact), *options])


def plain_server(artefact: Path) -> Server:
    """Starts the server that takes one request at a time."""
    return Server("plain", ["-m", "load.plain_server", str(artefact), MODEL_NAME])
