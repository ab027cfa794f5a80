"""What the workers of pytest-xdist share on disk: the first that needs it makes it for all."""

import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def made_once(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, Callable[[Path], object]], Path]:
    """`made_once(name, write)`: a directory that `write(directory)` has filled, here or in another
    worker. Tests must not change its files.
    """
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if hasattr(request.config, "workerinput") else base) / "made_once"
    shared.mkdir(exist_ok=True)

    def make(name: str, write: Callable[[Path], object]) -> Path:
        done = shared / f"{name}.done"
        with (shared / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                (shared / name).mkdir()
                write(shared / name)
                done.touch()
        return shared / name

    return make
