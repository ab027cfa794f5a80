"""Makes and keeps what is measured: for each model a folder that holds its run directory and every
export of it, all with the same weights.

Making them needs TensorFlow and happens in a process of its own (`python -m speed.artefacts`).
"""

import contextlib
import hashlib
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from driver import FASTEST

from . import shortlists
from .sizes import SIZES

BENCHMARKS = Path(__file__).resolve().parents[1]
_ROOT = BENCHMARKS.parent
# What the exports are made by; the runtime only reads them.
_MAKERS = (
    "keras_transformer/config",
    "keras_transformer/layers",
    "keras_transformer/models",
    "keras_transformer/text",
    "keras_transformer/artefact/entries.py",
    "keras_transformer/artefact/manifest.py",
    "export/onnx",
    "export/pretrained",
    "benchmarks/speed/artefacts.py",
    "benchmarks/speed/ctranslate2_model.py",
    "benchmarks/speed/ending_run.py",
    "benchmarks/speed/naive_export.py",
    "benchmarks/speed/random_run.py",
    "benchmarks/speed/shortlists.py",
    "benchmarks/speed/sizes.py",
)
_PACKAGES = ("ctranslate2", "keras", "onnx", "onnxruntime", "tensorflow", "tf2onnx")

# Engines write what they wish to tell of themselves to nobody, and ask no hub for models.
_QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "ORT_DISABLE_TELEMETRY": "1", "HF_HUB_OFFLINE": "1"}

# What `load_run` returns: a model, its tokenizer of sources and that of targets.
Loaded = tuple[Any, Any, Any]
Export = Callable[[Loaded, str, Path], None]

# Behind a size's name: its random run whose translations end; see `ending_run`.
ENDING = "-ending"
RUN = "run"
NAIVE = "naive"


def ours(precision: str, target: str = FASTEST) -> str:
    """Names the folder of our artefact in a precision, such as "int8", for a target."""
    return f"{target}-{precision}"


def peers(precision: str) -> str:
    """Names the folder of the CTranslate2 model in a precision."""
    return f"ctranslate2-{precision}"


def both(precisions: Iterable[str], target: str) -> list[str]:
    """Names the folders of both engines in some precisions."""
    return [name for p in precisions for name in (ours(p, target), peers(p))]


def size_folder(work: Path, name: str, makers: Sequence[str] = ()) -> Path:
    """Names the folder of a size's exports, made by the sources as they are now.

    Args:
        work: Where such folders are.
        name: The size's.
        makers: Further sources that make them: files and folders in the repository.
    """
    return work / f"{name}-{_fingerprint([], makers)}"


def run_folder(work: Path, run: Path, texts: Sequence[Path] = ()) -> Path:
    """Names the folder of a trained run's exports; `texts` are those of `make`."""
    model = run / "model.keras"
    if not model.is_file():
        raise FileNotFoundError(f"{model} is missing: give the directory of a finished run.")
    return work / f"{run.resolve().name}-{_fingerprint([model, *texts])}"


def make(
    folder: Path,
    parts: Iterable[str],
    size: str | None = None,
    run: Path | None = None,
    maker: str = "speed.artefacts",
    texts: Sequence[Path] = (),
) -> None:
    """Makes the missing parts of a folder, in a process of its own.

    Args:
        folder: From `size_folder` or `run_folder`; older ones of the same name are removed.
        parts: Names from `ours`, `peers` and `NAIVE`, or the maker's own.
        size: Name of the size whose random run is exported.
        run: The trained run that is exported instead.
        maker: The module that makes them: it calls `make_ordered`.
        texts: Two files that shortlists are learnt from; they are random without.

    Raises:
        RuntimeError: The process failed; its messages are on the error stream.
    """
    missing = sorted(part for part in set(parts) if not (folder / part).exists())
    if not missing:
        return
    for old in folder.parent.glob(f"{folder.name.rpartition('-')[0]}-*"):
        if old != folder and len(old.name) == len(folder.name):
            shutil.rmtree(old)
    order = json.dumps(
        {
            "folder": str(folder),
            "parts": missing,
            "size": size,
            "run": run and str(run),
            "texts": list(map(str, texts)),
        }
    )
    print(f"making {', '.join(missing)} in {folder}", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", maker, order]
    if subprocess.run(command, env=environment(), stdout=sys.stderr).returncode:
        raise RuntimeError(f"{folder} could not be made; the messages above say why.")


def environment() -> dict[str, str]:
    """Returns the environment of a child process that imports this package."""
    paths = [str(BENCHMARKS), *filter(None, [os.environ.get("PYTHONPATH")])]
    quiet = {**_QUIET, **os.environ}
    return {**quiet, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"}


def _fingerprint(inputs: Iterable[Path], makers: Sequence[str] = ()) -> str:
    """Hashes the inputs, the makers' sources and the packages' versions."""
    digest = hashlib.sha256()
    for path in (*inputs, *_sources(makers)):
        digest.update(path.read_bytes())
    for name in _PACKAGES:
        digest.update(f"{name} {importlib.metadata.version(name)}".encode())
    return digest.hexdigest()[:12]


def _sources(makers: Sequence[str]) -> Iterator[Path]:
    for name in (*_MAKERS, *makers):
        path = _ROOT / name
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def make_ordered(write_run: Callable[[str, Path], None], export: Export) -> None:
    """Makes what the command line orders: the process that `make` starts calls it.

    Args:
        write_run: Takes a size's name and a directory and writes a random run there.
        export: Takes what `load_run` returns, a part's name and a directory, and writes the part.
    """
    from keras_transformer.runs.finished_run import load_run

    order = json.loads(sys.argv[1])
    folder, run = Path(order["folder"]), order["run"] and Path(order["run"])
    if order["size"] is not None:
        run = folder / RUN
        if not run.exists():
            with whole_directory(run) as directory:
                write_run(order["size"], directory)
    loaded = load_run(run)
    for part in order["parts"]:
        with whole_directory(folder / part) as directory:
            export(loaded, part, directory)


def export_ours(loaded: Loaded, kind: str, precision: str, directory: Path) -> None:
    """Writes our artefact for a target, in a precision."""
    from keras_transformer.export import export_onnx

    model, source, target = loaded
    name, candidates = shortlists.split(precision)
    settings: dict[str, Any] = {"target": kind, "quantize": None if name == "float32" else name}
    if source is not target:
        settings["target_tokenizer"] = target
    if candidates is not None:
        settings["shortlist"] = shortlists.make(loaded, candidates, _ordered_texts())
    export_onnx(model, source, directory, **settings)


def export_peer(loaded: Loaded, precision: str, directory: Path) -> None:
    """Writes CTranslate2's model of the same weights, in a precision."""
    from .ctranslate2_model import write_ctranslate2

    name, candidates = shortlists.split(precision)
    write_ctranslate2(*loaded, directory, "int8" if name == "int8" else None)
    if candidates is not None:
        made = shortlists.make(loaded, candidates, _ordered_texts())
        shortlists.write_map(made, loaded, directory)


def _ordered_texts() -> list[str]:
    return json.loads(sys.argv[1])["texts"]


def _write_run(size: str, directory: Path) -> None:
    from .random_run import write_random_run

    write_random_run(SIZES[size.removesuffix(ENDING)], directory, ends=size.endswith(ENDING))


def _export(loaded: Loaded, part: str, directory: Path) -> None:
    from .naive_export import write_naive

    kind, _, precision = part.partition("-")
    if kind == NAIVE:
        write_naive(loaded[0], directory)
    elif kind == "ctranslate2":
        export_peer(loaded, precision, directory)
    else:
        export_ours(loaded, kind, precision, directory)


@contextlib.contextmanager
def whole_directory(directory: Path) -> Iterator[Path]:
    """Yields where to write a directory, which gets its name only when it is complete."""
    partial = directory.with_name(f"{directory.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.parent.mkdir(parents=True, exist_ok=True)
    yield partial
    partial.rename(directory)


if __name__ == "__main__":
    make_ordered(_write_run, _export)
