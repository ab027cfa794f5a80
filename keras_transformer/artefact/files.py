"""The files of an artefact as they are when it is opened. Each is read once, checked against the
manifest's hash and kept in memory, so that what happens to it later changes no answer.
"""

import hashlib
import mmap
import os
import threading
from functools import cached_property
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_transformer.artefact.entries import StoredFile
from keras_transformer.artefact.manifest import Manifest, check_is_there, check_sha256

Bytes = npt.NDArray[np.uint8]

# Small enough to be hashed while it is in a core's cache.
_BLOCK_BYTES = 1 << 20
# As wide as the widest vector registers; the matrices in the weights' file lie at multiples of it.
_ALIGNMENT = 64


class ArtefactFiles(os.PathLike[str]):
    """The files of an artefact, by their entries in its manifest; any number of threads may read.

    It stands for its directory: what opens an artefact takes either, and reads no file of this one
    again.

    Args:
        directory: The artefact.
        map_weights: Map the weights' file instead of reading it into memory. Processes then share
            its pages, but a change to the file changes the weights, and truncating it ends the
            process with SIGBUS.

    Attributes:
        directory: The artefact.
    """

    def __init__(self, directory: str | os.PathLike[str], *, map_weights: bool = False) -> None:
        self.directory = Path(directory)
        self._map_weights = map_weights
        self._lock = threading.Lock()
        self._held: dict[str, tuple[str, Bytes]] = {}

    @classmethod
    def of(cls, directory: str | os.PathLike[str], *, map_weights: bool = False) -> "ArtefactFiles":
        """Returns the files of a directory: the argument itself if it is an `ArtefactFiles`."""
        return directory if isinstance(directory, cls) else cls(directory, map_weights=map_weights)

    def __fspath__(self) -> str:
        return str(self.directory)

    @cached_property
    def manifest(self) -> Manifest:
        """The artefact's contract, read when it is first asked for; raises as `Manifest.read`."""
        return Manifest.read(self.directory)

    def read_all(self, manifest: Manifest) -> None:
        """Reads every file that a manifest names.

        Raises:
            FileNotFoundError: A file is missing; the message names it.
            ValueError: A file's SHA-256 differs from the manifest's.
        """
        for entry in manifest.files:
            if entry is manifest.weights:
                self.weights(entry)
            else:
                self.content(entry)

    def content(self, entry: StoredFile) -> bytes:
        """Returns a file's bytes; raises as `read_all`."""
        return self._content(entry, is_mapped=False).tobytes()

    def weights(self, entry: StoredFile) -> Bytes:
        """Returns the bytes of the weights' file, which may be mapped; raises as `read_all`."""
        return self._content(entry, is_mapped=self._map_weights)

    def _content(self, entry: StoredFile, *, is_mapped: bool) -> Bytes:
        path = self.directory / entry.file
        with self._lock:
            if entry.file not in self._held:
                check_is_there(path)
                with path.open("rb") as stream:
                    self._held[entry.file] = (_map if is_mapped else _read)(stream)
            found, content = self._held[entry.file]
        check_sha256(path, found, entry.sha256)
        return content


def _read(stream: BufferedReader) -> tuple[str, Bytes]:
    """Returns the SHA-256 of a file's bytes and the bytes, in memory of this process alone."""
    content, digest, size = _aligned(os.fstat(stream.fileno()).st_size), hashlib.sha256(), 0
    while read := stream.readinto(content.data[size : size + _BLOCK_BYTES]):
        digest.update(content.data[size : size + read])
        size += read
    return digest.hexdigest(), content[:size]


def _map(stream: BufferedReader) -> tuple[str, Bytes]:
    content: Any = b""
    if os.fstat(stream.fileno()).st_size:
        content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    return hashlib.sha256(content).hexdigest(), np.frombuffer(content, np.uint8)


def _aligned(size: int) -> Bytes:
    memory = np.empty(size + _ALIGNMENT, np.uint8)
    begin = -memory.ctypes.data % _ALIGNMENT
    return memory[begin : begin + size]
