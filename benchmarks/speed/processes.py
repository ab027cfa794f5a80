"""The parent's side: runs an engine in a process of its own, which must be idle while others are
measured.
"""

import contextlib
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from .artefacts import environment

_LOOK_SECONDS = 0.01
# In a row: a thread may sleep for a moment between two things.
_LOOKS = 3
_PATIENCE_SECONDS = 5.0


class Worker:
    """A running engine; to be used in a `with` statement, which ends it.

    Args:
        module: The module that serves it.
        arguments: Its command line arguments.
        python: The interpreter; this one if None.
        name: What messages call it; the module's name if None.
    """

    def __init__(
        self, module: str, *arguments: str, python: str | None = None, name: str | None = None
    ) -> None:
        self.name = name or module
        self._process = subprocess.Popen(
            [python or sys.executable, "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def end(self) -> None:
        """Ends the process, if it has not ended."""
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()

    def ask(self, do: str, **arguments: Any) -> Any:
        """Calls a method of the engine and returns its result.

        Raises:
            RuntimeError: The engine raised, or its process has ended.
        """
        try:
            self._process.stdin.write(json.dumps({"do": do, "with": arguments}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise RuntimeError(f"{self.name} has ended; see its messages on the error stream.")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{self.name} failed:\n{answer['error']}")
        return answer["result"]

    def settle(self) -> None:
        """Waits until none of the process's threads runs or wants to, as `settle` does."""
        settle(self._process.pid, self.name)


def settle(pid: int, name: str) -> None:
    """Waits until none of a process's threads runs or wants to.

    Args:
        pid: The process.
        name: What the message calls it.

    Raises:
        RuntimeError: Some still do after five seconds: they spin.
    """
    end = time.monotonic() + _PATIENCE_SECONDS
    idle = 0
    while idle < _LOOKS:
        if time.monotonic() > end:
            raise RuntimeError(f"{name} keeps its threads spinning while it has nothing to do.")
        time.sleep(_LOOK_SECONDS)
        idle = 0 if _is_running(pid) else idle + 1


def _is_running(pid: int) -> bool:
    # On a busy machine a spinning thread may get no time at all, but its state is still R. A
    # thread's name, in parentheses, stands before its state and may hold anything.
    for path in Path(f"/proc/{pid}/task").glob("*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if path.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "R":
                return True
    return False
