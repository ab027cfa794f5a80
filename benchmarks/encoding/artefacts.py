"""Makes and keeps what is measured of an encoder: its random run, our export, and the other
engines' models with the same weights.

Making them needs TensorFlow and happens in a process of its own (`python -m encoding.artefacts`).
"""

from collections.abc import Iterable
from pathlib import Path

from speed import artefacts

from .sizes import SIZES

# Weights by name, for engines that build the model themselves.
WEIGHTS = "weights"
_MAKERS = ("benchmarks/encoding",)


def optimized(precision: str) -> str:
    """Names the folder of onnxruntime's own optimizer's model in a precision."""
    return f"optimizer-{precision}"


def make(work: Path, size: str, precisions: Iterable[str], target: str) -> Path:
    """Makes what is missing of a size and returns its folder."""
    folder = artefacts.size_folder(work, f"encoder-{size}", _MAKERS)
    parts = [*artefacts.both(precisions, target), *map(optimized, precisions), WEIGHTS]
    artefacts.make(folder, parts, size=size, maker="encoding.artefacts")
    return folder


def _write_run(size: str, directory: Path) -> None:
    from .random_encoder import write_random_encoder

    write_random_encoder(SIZES[size], directory)


def _export(loaded: artefacts.Loaded, part: str, directory: Path) -> None:
    import numpy as np

    from .onnxruntime_model import write_optimized
    from .weights import FILE, named_weights

    model = loaded[0]
    kind, _, precision = part.partition("-")
    if kind == "ctranslate2":
        artefacts.export_peer(loaded, precision, directory)
    elif kind == "optimizer":
        write_optimized(named_weights(model), model.config, directory, precision)
    elif kind == WEIGHTS:
        directory.mkdir()
        np.savez(directory / FILE, **named_weights(model))
    else:
        artefacts.export_ours(loaded, kind, precision, directory)


if __name__ == "__main__":
    artefacts.make_ordered(_write_run, _export)
