"""Tries a hostile client on `keras-transformer serve`, which may open 64 files only, while an
honest one asks on.

    python benchmarks/hostile.py --artefact exported/mine --json hostile.json

Both are on the loopback interface of this machine; the whole takes about three minutes. Prints how
each attack was answered, how the honest client fared meanwhile and how the server's memory grew.
With `--json FILE` it writes all figures to FILE and the table to FILE with the ending .md. Ends
with status 1 if an honest request was lost or answered wrongly, or the server failed.
"""

import argparse
import contextlib
import json
import resource
import signal
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from driver import publish, table, tell, write_json
from load.attacks import attacks
from load.servers import MODEL_NAME, Server, our_server
from speed.machine import describe_machine

_MOST_FILES = 64
_PAUSE_SECONDS = 0.05
_BODY = json.dumps({"instances": ["A man in a red shirt."]}).encode()
_HEADS = ["attack", "seconds", "answers", "honest requests", "lost or wrong", "slowest ms", "MB"]


class Honest(threading.Thread):
    """Asks the same all the time, each time on a new connection.

    Attributes:
        latencies: Seconds of each right answer.
        complaints: What was wrong with the others.
    """

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self._url = f"http://127.0.0.1:{port}/v1/models/{MODEL_NAME}:predict"
        self._expected, self._stopping = self._ask(), threading.Event()
        self.latencies: list[float] = []
        self.complaints: list[str] = []

    def run(self) -> None:
        """Asks until it is stopped."""
        while not self._stopping.wait(_PAUSE_SECONDS):
            began = time.monotonic()
            try:
                right = self._ask() == self._expected
            except OSError as error:
                self.complaints.append(repr(error))
            else:
                if right:
                    self.latencies.append(time.monotonic() - began)
                else:
                    self.complaints.append("another answer")

    def stop(self) -> None:
        """Ends it after its answer."""
        self._stopping.set()
        self.join()

    def _ask(self) -> bytes:
        with urllib.request.urlopen(self._url, _BODY, timeout=60) as answer:
            return answer.read()


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs all attacks; ends with status 1 and a message if an honest client suffered."""
    parser = argparse.ArgumentParser(description="Tries a hostile client on the server.")
    parser.add_argument("--artefact", type=Path, required=True, help="an ONNX artefact's directory")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write all figures")
    options = parser.parse_args(arguments)
    rows = []
    with few_files():
        started = our_server(options.artefact)
    with started as server:
        for name, attack in attacks().items():
            rows.append(measure(server, name, attack))
            tell(f"{name}: {rows[-1]['answers']}")
        rows.append(hang_up(server))
    result = {"machine": describe_machine(("starlette", "uvicorn", "httptools")), "attacks": rows}
    write_json(result, options.json)
    publish(write_table(rows), options.json)
    if failures := [row for row in rows if row["complaints"] or "500" in row["answers"]]:
        sys.exit(f"hostile.py: {failures}")


@contextlib.contextmanager
def few_files() -> Iterator[None]:
    """Lets processes that are started within open few files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (_MOST_FILES, hard))
    with contextlib.ExitStack() as stack:
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        yield


def measure(server: Server, name: str, attack: Any) -> dict[str, Any]:
    """Runs an attack beside an honest client; returns what both met with."""
    honest, before = Honest(server.port), server.memory()
    honest.start()
    began = time.monotonic()
    answers = attack(server.port)
    seconds = time.monotonic() - began
    honest.stop()
    return _row(name, seconds, dict(answers), honest, server.memory() - before)


def hang_up(server: Server) -> dict[str, Any]:
    """Sends SIGHUP while an honest client asks; returns how the server ended."""
    honest = Honest(server.port)
    honest.start()
    time.sleep(1)
    began = time.monotonic()
    code = server.end(signal.SIGHUP)
    seconds = time.monotonic() - began
    honest.stop()
    # Once it is gone, it is gone: only what it had begun to answer counts.
    honest.complaints = [text for text in honest.complaints if "refused" not in text]
    return _row("SIGHUP", seconds, {f"status {code}": 1}, honest, 0)


def _row(
    name: str, seconds: float, answers: dict[str, int], honest: Honest, memory: int
) -> dict[str, Any]:
    return {
        "attack": name,
        "seconds": seconds,
        "answers": answers,
        "honest": len(honest.latencies),
        "complaints": honest.complaints,
        "slowest": max(honest.latencies, default=0.0),
        "memory": memory,
    }


def write_table(rows: Sequence[dict[str, Any]]) -> str:
    """Returns the table."""
    lines = [
        [
            row["attack"],
            f"{row['seconds']:.1f}",
            ", ".join(f"{count} × {answer}" for answer, count in row["answers"].items()),
            str(row["honest"]),
            str(len(row["complaints"])),
            f"{1000 * row['slowest']:.0f}",
            f"{row['memory'] / 1e6:+.0f}",
        ]
        for row in rows
    ]
    return table(_HEADS, lines)


if __name__ == "__main__":
    main()
