"""The choice among an artefact's targets: the graphs that run fastest on this machine, and why."""

import logging
from dataclasses import dataclass
from pathlib import Path

from keras_transformer.artefact.entries import NativeGraphs
from keras_transformer.artefact.manifest import Manifest
from keras_transformer.runtime.onnx_graphs.operators import PORTABLE, check_version, instructions

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Choice:
    """The graphs that run.

    Attributes:
        manifest: The artefact's contract without its other graphs.
        reason: Why these were chosen.
    """

    manifest: Manifest
    reason: str

    def describe(self) -> dict[str, str]:
        """Returns the family, the precision, the target and the reason."""
        return {
            "family": self.manifest.family,
            "precision": self.manifest.precision,
            "target": self.manifest.target,
            "reason": self.reason,
        }


def choose_graphs(manifest: Manifest, directory: Path, target: str | None = None) -> Choice:
    """Chooses the graphs that are fastest here, and logs which.

    Those of this package's own operators run if the operators are compiled here, in the version
    and at least the revision that the artefact was written for, and have kernels for this
    processor; onnxruntime's otherwise.

    Args:
        manifest: The artefact's contract.
        directory: Where its files are.
        target: The target to run; the fastest if None.

    Raises:
        ValueError: The artefact has no graphs for the target, or KERAS_TRANSFORMER_MAX_ISA names no
            instructions.
    """
    if target is not None:
        choice, level = Choice(manifest.of_target(target), "the caller chose them"), logging.INFO
    elif manifest.native is None:
        choice, level = Choice(manifest, "the artefact has no others"), logging.INFO
    else:
        choice, level = _fastest(manifest, manifest.native)
    _log.log(
        level, "%s runs its graphs for %s: %s", directory, choice.manifest.target, choice.reason
    )
    return choice


def _fastest(manifest: Manifest, native: NativeGraphs) -> tuple[Choice, int]:
    """Returns the choice, and the level of its log: a warning if the installation is to blame."""
    standard = manifest.of_target(manifest.target)
    try:
        check_version(native.operators_version, native.operators_revision)
    except ImportError as error:
        return Choice(standard, str(error)), logging.WARNING
    found = instructions()
    if found == PORTABLE:
        reason = "this package's operators have no fast kernels for this processor or compiler"
        return Choice(standard, reason), logging.INFO
    reason = f"this package's operators are compiled here and have kernels for {found}"
    return Choice(manifest.of_target("native"), reason), logging.INFO
