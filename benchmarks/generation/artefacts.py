"""Makes and keeps what is measured of a decoder: its random run, our export, and CTranslate2's
model with the same weights.

Making them needs TensorFlow and happens in a process of its own (`python -m generation.artefacts`).
"""

from collections.abc import Iterable
from pathlib import Path

from speed import artefacts

from .sizes import SIZES

_MAKERS = ("benchmarks/generation",)


def make(work: Path, size: str, precisions: Iterable[str], target: str) -> Path:
    """Makes what is missing of a size and returns its folder."""
    folder = artefacts.size_folder(work, f"decoder-{size}", _MAKERS)
    parts = artefacts.both(precisions, target)
    artefacts.make(folder, parts, size=size, maker="generation.artefacts")
    return folder


def _write_run(size: str, directory: Path) -> None:
    from .random_decoder import write_random_decoder

    write_random_decoder(SIZES[size], directory)


def _export(loaded: artefacts.Loaded, part: str, directory: Path) -> None:
    kind, _, precision = part.partition("-")
    if kind == "ctranslate2":
        artefacts.export_peer(loaded, precision, directory)
    else:
        artefacts.export_ours(loaded, kind, precision, directory)


if __name__ == "__main__":
    artefacts.make_ordered(_write_run, _export)
