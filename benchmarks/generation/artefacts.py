"""Makes and keeps what is measured of a decoder: its random or trained run, our export, and the
peers' models with the same weights.

Making ours needs TensorFlow and happens in a process of its own (`python -m generation.artefacts`).
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from peers import HUGGING_FACE
from peers.names import CTRANSLATE2
from peers.peer import Peer
from speed import artefacts

from .sizes import SIZES

_MAKERS = tuple(
    f"benchmarks/{name}"
    for name in (
        "generation/conversions",
        "generation/random_decoder.py",
        "generation/sizes.py",
        "peers/huggingface.py",
    )
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Maker:
    """What makes models, and where.

    Attributes:
        work: Where models are kept.
        environments: Where the peers' environments are.
        peers: Whose models are made.
        target: What our graphs are exported for.
    """

    work: Path
    environments: Path
    peers: Sequence[Peer]
    target: str = artefacts.FASTEST

    def make(self, size: str, precisions: Sequence[str], run: Path | None = None) -> Path:
        """Makes what is missing of a size and returns its folder.

        Args:
            size: The size's name.
            precisions: Those of the models.
            run: A trained run that is exported in place of the size's random one.

        Raises:
            RuntimeError: Something could not be made; messages are on the error stream.
        """
        parts = [artefacts.ours(precision, self.target) for precision in precisions]
        for peer in self.peers:
            if peer.name == CTRANSLATE2:
                parts += [artefacts.peers(p) for p in precisions if p in peer.precisions]
            if peer.converter:
                parts.append(HUGGING_FACE)
        if run is None:
            folder = artefacts.size_folder(self.work, f"decoder-{size}", _MAKERS)
            artefacts.make(folder, parts, size=size, maker="generation.artefacts")
        else:
            folder = artefacts.run_folder(self.work, run)
            artefacts.make(folder, parts, run=run, maker="generation.artefacts")
        for peer in self.peers:
            peer.convert(folder, precisions, self.environments)
        return folder


def _write_run(size: str, directory: Path) -> None:
    from .random_decoder import write_random_decoder

    write_random_decoder(SIZES[size], directory)


def _export(loaded: artefacts.Loaded, part: str, directory: Path) -> None:
    from peers.huggingface import write_hugging_face

    kind, _, precision = part.partition("-")
    if kind == "ctranslate2":
        artefacts.export_peer(loaded, precision, directory)
    elif kind == HUGGING_FACE:
        write_hugging_face(*loaded[:2], directory)
    else:
        artefacts.export_ours(loaded, kind, precision, directory)


if __name__ == "__main__":
    artefacts.make_ordered(_write_run, _export)
