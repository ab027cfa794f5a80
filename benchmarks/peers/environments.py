"""Makes the environments in which other engines run: each has its own packages, installed once by
pip as its user configured it.
"""

import json
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

_VERSIONS = (
    "import importlib.metadata, json, sys; "
    "print(json.dumps({name: importlib.metadata.version(name) for name in sys.argv[1:]}))"
)
# Written when everything is installed: the packages that were asked for.
_INSTALLED = "installed.json"


def python_of(environments: Path, name: str, packages: Sequence[str]) -> str:
    """Returns the interpreter of an environment, which is made if it is missing.

    Args:
        environments: The folder of all environments.
        name: Of this one.
        packages: What pip installs in it; if other packages were, it is made anew.

    Raises:
        RuntimeError: They could not be installed; pip's messages are on the error stream.
    """
    directory = environments.absolute() / name
    python, installed = directory / "bin" / "python", directory / _INSTALLED
    if installed.exists() and json.loads(installed.read_text(encoding="utf-8")) == [*packages]:
        return str(python)
    shutil.rmtree(directory, ignore_errors=True)
    print(f"installing {', '.join(packages)} in {directory}", file=sys.stderr, flush=True)
    venv.create(directory, with_pip=True)
    command = [str(python), "-m", "pip", "install", "--quiet", *packages]
    if subprocess.run(command, stdout=sys.stderr).returncode:
        raise RuntimeError(
            f"pip could not install {', '.join(packages)} for {name} in {directory}; the messages "
            "above say why. Leave it out of --peers to measure the others."
        )
    installed.write_text(json.dumps([*packages]), encoding="utf-8")
    return str(python)


def versions(python: str, packages: Sequence[str]) -> dict[str, str]:
    """Returns the versions of an environment's packages."""
    done = subprocess.run(
        [python, "-c", _VERSIONS, *packages], stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout)
