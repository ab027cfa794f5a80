"""The directories of a model's versions: finds them, tells when their files change, and what one of
another kind is.
"""

import re
from pathlib import Path

# A directory's files with their sizes and times: a version that failed is tried again when these
# change.
Stamp = tuple[tuple[str, int, int], ...]

_SAVED_MODEL_FILE = "saved_model.pb"
_VERSION_NAME = re.compile(r"[0-9]+")


def find_versions(directory: Path) -> dict[int, Path]:
    """Returns the version directories by number.

    Raises:
        OSError: The directory cannot be read.
    """
    return {
        int(path.name): path
        for path in directory.iterdir()
        if _VERSION_NAME.fullmatch(path.name) and path.is_dir()
    }


def hint_for(directory: Path) -> str:
    """Returns what to do about a directory of another kind; "" if its kind is unknown."""
    if not (directory / _SAVED_MODEL_FILE).is_file():
        return ""
    return (
        f" {directory} is a TensorFlow SavedModel, which TensorFlow Serving serves: this server "
        "needs an artefact from `keras-transformer export RUN --format onnx`."
    )


def stamp_of(directory: Path) -> Stamp:
    """Returns a stamp that changes when a directory's files do; () if it is gone."""
    try:
        states = [(path.name, path.stat()) for path in sorted(directory.iterdir())]
    except OSError:
        return ()
    return tuple((name, state.st_size, state.st_mtime_ns) for name, state in states)
