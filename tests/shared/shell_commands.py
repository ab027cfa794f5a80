"""Commands as a page of the documentation shows them, run by a shell."""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path


def outputs(commands: Iterable[str], folder: Path) -> list[str]:
    """Runs commands one after the other in a folder; returns what each prints."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return [
        subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env={**os.environ, "PATH": path},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for command in commands
    ]
