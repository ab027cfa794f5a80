"""Makes and keeps what is measured of an encoder: its random run, our export, and the other
engines' models with the same weights.

Making them needs TensorFlow and happens in a process of its own (`python -m encoding.artefacts`).
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from peers import HUGGING_FACE
from speed import artefacts

from .peers import CTRANSLATE2, ONNXRUNTIME, PEERS, PYTORCH
from .sizes import SIZES, EncoderSize

# Weights by name, for engines that build the model themselves.
WEIGHTS = "weights"
_MAKER = "encoding.artefacts"
_MAKERS = ("benchmarks/encoding", "benchmarks/peers/huggingface.py")


def optimized(precision: str) -> str:
    """Names the folder of onnxruntime's own optimizer's model in a precision."""
    return f"optimizer-{precision}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Maker:
    """What makes models, and where.

    Attributes:
        work: Where models are kept.
        environments: Where the peers' environments are.
        libraries: The engines whose models are made.
        target: What our graphs are exported for.
    """

    work: Path
    environments: Path
    libraries: Sequence[str]
    target: str = artefacts.FASTEST

    def make(self, size: EncoderSize, precisions: Sequence[str]) -> Path:
        """Makes what is missing of a size and returns its folder.

        Raises:
            RuntimeError: Something could not be made; messages are on the error stream.
        """
        if size.run is None:
            folder = artefacts.size_folder(self.work, f"encoder-{size.name}", _MAKERS)
            of: dict[str, Any] = {"size": size.name}
        else:
            folder = artefacts.run_folder(self.work, size.run)
            of = {"run": size.run}
        parts = [artefacts.ours(precision, self.target) for precision in precisions]
        artefacts.make(folder, [HUGGING_FACE, *parts], **of, maker=_MAKER)
        artefacts.make(folder, self._parts(folder, precisions), **of, maker=_MAKER)
        for name in self.libraries:
            if name in PEERS:
                PEERS[name].convert(folder, precisions, self.environments)
        return folder

    def _parts(self, folder: Path, precisions: Sequence[str]) -> list[str]:
        """Returns what engines need that run in our environment, or have no converter."""
        named = {CTRANSLATE2: artefacts.peers, ONNXRUNTIME: optimized}
        return [
            *([WEIGHTS] if PYTORCH in self.libraries else []),
            *(
                part(precision)
                for library, part in named.items()
                if library in self.libraries
                for precision in precisions
                if PEERS[library].runs(folder, precision)
            ),
        ]


def _write_run(size: str, directory: Path) -> None:
    from .random_encoder import write_random_encoder

    write_random_encoder(SIZES[size], directory)


def _export(loaded: artefacts.Loaded, part: str, directory: Path) -> None:
    import numpy as np
    from peers.huggingface import write_hugging_face

    from .onnxruntime_model import write_optimized
    from .weights import FILE, named_weights

    model = loaded[0]
    kind, _, precision = part.partition("-")
    if kind == "ctranslate2":
        artefacts.export_peer(loaded, precision, directory)
    elif kind == "optimizer":
        write_optimized(named_weights(model), model.config, directory, precision)
    elif kind == HUGGING_FACE:
        write_hugging_face(*loaded[:2], directory)
    elif kind == WEIGHTS:
        directory.mkdir()
        np.savez(directory / FILE, **named_weights(model))
    else:
        artefacts.export_ours(loaded, kind, precision, directory)


if __name__ == "__main__":
    artefacts.make_ordered(_write_run, _export)
