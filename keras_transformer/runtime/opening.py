"""The opening of an artefact: its manifest, files, graphs, tokenizers and engine, which every class
that runs one holds until it is closed.
"""

import os
from collections.abc import Callable
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.artefact.manifest import Manifest
from keras_transformer.config.family import FAMILIES, Family
from keras_transformer.runtime.onnx_graphs.choice import choose_graphs
from keras_transformer.runtime.tokenizers import open_text_ids


class Closing(Protocol):
    """An engine."""

    def close(self) -> None:
        """Releases the graphs; calls that are running finish, later ones raise RuntimeError."""
        ...


_Engine = TypeVar("_Engine", bound=Closing)


class OpenedArtefact(Generic[_Engine]):
    """An artefact in use; a context manager that closes itself.

    Args:
        directory: The artefact, or its `ArtefactFiles`, of which none is read again.
        family: The family that its model must be of.
        open_engine: Makes an engine of a manifest with the chosen graphs alone, and the files.
        target: Which of the artefact's graphs to run; those that are fastest here if None.
        mmap: Map the file of weights instead of reading it.

    Attributes:
        manifest: The artefact's contract.
        engine: Runs the graphs.
        text_ids: Texts and ids, for each of the family's `tokenizers`.

    Raises:
        FileNotFoundError: The directory or one of its files is missing.
        ValueError: The manifest or a file is damaged, foreign, or of an unknown version; the model
            is of another family; or it has no graphs for the target.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        family: Family,
        open_engine: Callable[[Manifest, ArtefactFiles], _Engine],
        *,
        target: str | None = None,
        mmap: bool = False,
    ) -> None:
        files = ArtefactFiles.of(directory, map_weights=mmap)
        self.manifest = manifest = files.manifest
        if manifest.family != family.name:
            raise ValueError(
                f"{files.directory} holds a model of the family {manifest.family!r}: open it with "
                f"{FAMILIES[manifest.family].name_of('opened')}."
            )
        files.read_all(manifest)
        self._choice = choose_graphs(manifest, files.directory, target)
        self.text_ids = [open_text_ids(files, manifest, side) for side in family.tokenizers]
        self.engine = open_engine(self._choice.manifest, files)

    def describe(self) -> dict[str, str]:
        """Returns the model's family and precision, the target of the graphs that run and why."""
        return self._choice.describe()

    def close(self) -> None:
        """Frees the graphs. Calls that are running finish; later ones raise RuntimeError."""
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
