"""An engine that ours is compared with: what it runs, where, and on which files."""

import dataclasses
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from speed.artefacts import environment, whole_directory
from speed.processes import Worker

from . import HUGGING_FACE
from .environments import python_of
from .names import library_of


@dataclasses.dataclass(frozen=True, kw_only=True)
class Peer:
    """An engine.

    Attributes:
        name: As given on the command line.
        engine: The module that serves it; its first argument is a number of threads.
        precisions: Those that it has.
        packages: What is installed in an environment of its own; empty if it runs in ours.
        converter: The module that makes its model of Hugging Face's files, called with these, a new
            directory and a precision; None if artefacts hold its models.
        without: Architectures, by Hugging Face's names, that it cannot run.
        any_threads: Whether it may be faster on one thread than on many, so that the better counts.
        is_exact: Whether its float32 is that of others; else ids that differ are told and end
            nothing.
    """

    name: str
    engine: str
    precisions: tuple[str, ...]
    packages: tuple[str, ...] = ()
    converter: str | None = None
    without: tuple[str, ...] = ()
    any_threads: bool = False
    is_exact: bool = True

    def python(self, environments: Path) -> str | None:
        """Returns its interpreter, with its packages installed; None for ours."""
        return python_of(environments, self.name, self.packages) if self.packages else None

    def threads(self, most: int) -> list[int]:
        """Returns the numbers of threads that it is measured with."""
        return sorted({1, most} if self.any_threads else {most})

    def runs(self, folder: Path, precision: str) -> bool:
        """Returns whether it has the model of a folder of artefacts in a precision."""
        return precision in self.precisions and not (
            self.without and architecture(folder) in self.without
        )

    def convert(self, folder: Path, precisions: Iterable[str], environments: Path) -> None:
        """Makes what is missing of its models.

        Raises:
            RuntimeError: The converter failed; its messages are on the error stream.
        """
        missing = [
            precision
            for precision in sorted(set(precisions))
            if self.runs(folder, precision) and not self.model(folder, precision).exists()
        ]
        for precision in missing if self.converter else ():
            directory = self.model(folder, precision)
            print(f"converting to {directory}", file=sys.stderr, flush=True)
            with whole_directory(directory) as partial:
                order = [str(folder / HUGGING_FACE), str(partial), precision]
                command = [self.python(environments), "-m", self.converter, *order]
                if subprocess.run(command, env=environment(), stdout=sys.stderr).returncode:
                    raise RuntimeError(
                        f"{self.name} could not convert {order[0]} in {precision}; the messages "
                        "above say why. Leave it out of --peers to measure the others."
                    )

    def model(self, folder: Path, precision: str) -> Path:
        """Names its model in a folder of artefacts."""
        return folder / f"{self.name}-{precision}"


def having(
    workers: Mapping[str, Worker], peers: Mapping[str, Peer], folder: Path, precision: str
) -> dict[str, Worker]:
    """Returns ours, and the peers that have a folder's model in a precision.

    Args:
        workers: By `peer_name`; those of no peer always take part.
        peers: By library.
        folder: Of artefacts.
        precision: The precision.
    """

    def has(name: str) -> bool:
        peer = peers.get(library_of(name))
        return peer is None or peer.runs(folder, precision)

    return {name: worker for name, worker in workers.items() if has(name)}


def architecture(folder: Path) -> str:
    """Returns Hugging Face's name for the architecture of a folder's model."""
    config = (folder / HUGGING_FACE / "config.json").read_text(encoding="utf-8")
    return json.loads(config)["architectures"][0]
