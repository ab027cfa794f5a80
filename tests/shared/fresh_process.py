"""Python in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def python(
    *arguments: Any,
    fails: bool = False,
    given: str | None = None,
    folder: Path | None = None,
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """Runs Python, which must end well unless it may fail.

    Args:
        arguments: Those of its command line, such as "-c" and a program.
        fails: Whether it may end with an error.
        given: Its standard input.
        folder: Where it runs.
        environment: Variables beside those of this process.
    """
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        input=given,
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert fails or done.returncode == 0, done.stderr[-4000:]
    return done


def run_script(
    script: Path, *arguments: Any, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs a script, which may end with an error, without TensorFlow's log."""
    return python(script, *arguments, fails=True, TF_CPP_MIN_LOG_LEVEL="3", **environment)
