"""The directories of a model's versions, and changes of the files in them."""

import re
from pathlib import Path
from typing import NamedTuple

from keras_transformer.serving.models.model_options import MAX_VERSION, is_version

# A directory's files with their sizes and times: a version that failed is tried again when these
# change.
Stamp = tuple[tuple[str, int, int], ...]

_VERSION_NAME = re.compile(r"[0-9]+")


class FoundVersions(NamedTuple):
    """The version directories of a model.

    Attributes:
        versions: Each by its number.
        ignored: Names of those whose number is too large, in order.
    """

    versions: dict[int, Path]
    ignored: list[str]

    @property
    def hint(self) -> str:
        """What to know about those that are ignored; "" if none is."""
        if not self.ignored:
            return ""
        names = ", ".join(self.ignored)
        return f" Ignored, as a version's number is at most {MAX_VERSION}: {names}."


def find_versions(directory: Path) -> FoundVersions:
    """Returns the directories that are named by numbers.

    Raises:
        OSError: The directory cannot be read.
    """
    numbered = [
        path for path in directory.iterdir() if _VERSION_NAME.fullmatch(path.name) and path.is_dir()
    ]
    return FoundVersions(
        {int(path.name): path for path in numbered if is_version(path.name)},
        sorted(path.name for path in numbered if not is_version(path.name)),
    )


def stamp_of(directory: Path) -> Stamp:
    """Returns a stamp that changes when a directory's files do; () if it is gone."""
    try:
        states = [(path.name, path.stat()) for path in sorted(directory.iterdir())]
    except OSError:
        return ()
    return tuple((name, state.st_size, state.st_mtime_ns) for name, state in states)
