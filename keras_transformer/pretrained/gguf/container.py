"""Reads GGUF files: metadata and tensors by name, which are dequantised when they are asked for.

The files may come from anybody: each count, length, offset and size is compared with what is left
of the file before memory is taken for it.
"""

import math
import mmap
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from keras_transformer.distribution import install_command
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.pointers import refuse_pointer
from keras_transformer.pretrained.tensor_files import Array, Tensors
from keras_transformer.pretrained.values import FileValues

SUFFIX, _MAGIC = ".gguf", b"GGUF"
_VERSIONS = (2, 3)
# The numbers of the kinds of metadata → their form in `struct`; the two others are text and lists.
_SCALARS = dict(enumerate(("B", "b", "H", "h", "I", "i", "f", "?"))) | {10: "Q", 11: "q", 12: "d"}
_TEXT, _LIST = 8, 9
# Bytes of the shortest entry of each kind: a name without letters, and what follows it.
_LEAST_VALUE, _LEAST_TENSOR = 8 + 4 + 1, 8 + 4 + 4 + 8
_MOST_AXES, _MOST_ALIGNMENT = 4, 1 << 16
# Those of at least 4 bits; the size of a model is checked by its file's.
_TYPES = (
    *("F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1"),
    *("Q4_K", "Q5_K", "Q6_K"),
)


class Gguf(NamedTuple):
    """A file.

    Attributes:
        values: Its metadata; of the value "a.b", that of the name "a.b".
        tensors: Its tensors, float32, shaped as in PyTorch: `(outputs, inputs)`.
    """

    values: FileValues
    tensors: Tensors


def is_gguf(path: Path) -> bool:
    """Whether a path is that of a GGUF file, by its name or by how it begins."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return path.suffix == SUFFIX or file.read(len(_MAGIC)) == _MAGIC


def open_gguf(path: Path) -> Gguf:
    """Opens a file.

    Raises:
        ImportError: The package gguf is missing.
        ImportRefusedError: It is damaged, or holds weights of a kind that is not supported.
    """
    refuse_pointer(path)
    library = _library(path)
    reader = _Reader(path)
    if reader.take(len(_MAGIC)) != _MAGIC:
        raise ImportRefusedError(f"{path} is no GGUF file: it does not begin with GGUF.")
    version = reader.scalar("I")
    if version not in _VERSIONS:
        raise ImportRefusedError(
            f"{path} is of version {version} of GGUF, and only {' and '.join(map(str, _VERSIONS))} "
            "are supported, in little-endian order."
        )
    tensors, values = reader.scalar("Q"), reader.scalar("Q")
    reader.check(values, _LEAST_VALUE, "values")
    found: dict[str, Any] = {}
    for _ in range(values):
        name = reader.text()
        if name in found:
            raise ImportRefusedError(f"{path} has the value {name!r} twice.")
        found[name] = reader.value(reader.scalar("I"))
    metadata = FileValues(path, found)
    reader.check(tensors, _LEAST_TENSOR, "tensors")
    placed = [_Place.read(reader, library) for _ in range(tensors)]
    alignment = metadata.integer("general.alignment", 32, least=1, most=_MOST_ALIGNMENT)
    start = reader.place + -reader.place % alignment
    readers: dict[str, Callable[[], Array]] = {}
    for one in placed:
        end = start + one.offset + one.size
        if one.name in readers or end > len(reader.content):
            raise ImportRefusedError(
                f"{path}: the tensor {one.name!r} ends at byte {end} of {len(reader.content)}, or "
                "is there twice: the file is damaged or not whole."
            )
        readers[one.name] = partial(one.dequantized, library.dequantize, reader.content, start)
    return Gguf(metadata, Tensors(readers, str(path)))


def _library(path: Path) -> Any:
    """Returns llama.cpp's own package, which knows the types of tensors."""
    try:
        import gguf
    except ImportError as error:
        raise ImportError(f"{path} needs the gguf package: {install_command('gguf')}") from error
    return gguf


class _Reader:
    """Takes values from a file's bytes, one after another."""

    def __init__(self, path: Path) -> None:
        self.path, self.place = path, 0
        self.content: Any = b""  # Of which there is no map.
        if path.stat().st_size:
            with path.open("rb") as file:
                self.content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def check(self, count: int, size: int, what: str) -> None:
        """Raises `ImportRefusedError` if so many things of so many bytes cannot follow."""
        left = len(self.content) - self.place
        if count * size > left:
            raise ImportRefusedError(
                f"{self.path} says at byte {self.place} that {count} {what} follow, and {left} "
                "bytes do: the file is damaged or not whole."
            )

    def take(self, count: int) -> bytes:
        """Takes so many bytes."""
        self.check(count, 1, "bytes")
        self.place += count
        return bytes(self.content[self.place - count : self.place])

    def scalar(self, form: str) -> Any:
        """Takes a value of a form of `struct`."""
        [value] = struct.unpack(f"<{form}", self.take(struct.calcsize(f"<{form}")))
        return value

    def text(self) -> str:
        """Takes a string."""
        content = self.take(self.scalar("Q"))
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ImportRefusedError(
                f"{self.path} holds text at byte {self.place} that is not UTF-8: {error}."
            ) from error

    def value(self, kind: int) -> Any:
        """Takes a value of metadata."""
        if kind == _TEXT:
            return self.text()
        if kind in _SCALARS:
            return self.scalar(_SCALARS[kind])
        inner = self.scalar("I") if kind == _LIST else kind
        if kind != _LIST or inner not in (_TEXT, *_SCALARS):
            raise ImportRefusedError(
                f"{self.path} holds a value of the kind {kind}, or a list of {inner}, at byte "
                f"{self.place}, which GGUF has not."
            )
        count = self.scalar("Q")
        if inner == _TEXT:
            self.check(count, 8, "strings")
            return [self.text() for _ in range(count)]
        form = np.dtype(_SCALARS[inner]).newbyteorder("<")
        self.check(count, form.itemsize, "values")
        return np.frombuffer(self.take(count * form.itemsize), form).tolist()


class _Place(NamedTuple):
    """Where a tensor is.

    Attributes:
        name: Its name.
        shape: Its shape, that of PyTorch.
        kind: The type of its values.
        offset: How many bytes of tensors come before it.
        row: Bytes of a row.
    """

    name: str
    shape: tuple[int, ...]
    kind: Any
    offset: int
    row: int

    @classmethod
    def read(cls, reader: _Reader, library: Any) -> "_Place":
        """Takes what a file says of a tensor."""
        name, axes = reader.text(), reader.scalar("I")
        if not 1 <= axes <= _MOST_AXES:
            raise ImportRefusedError(f"{reader.path}: the tensor {name!r} has {axes} axes.")
        shape = tuple(reader.scalar("Q") for _ in range(axes))
        number, offset = reader.scalar("I"), reader.scalar("Q")
        kinds = {int(one): one for one in library.GGMLQuantizationType}
        named = kinds[number].name if number in kinds else str(number)
        if named not in _TYPES:
            raise ImportRefusedError(
                f"{reader.path}: the tensor {name!r} has the type {named}, and only "
                f"{', '.join(_TYPES)} are supported: take a file of one of these."
            )
        block, size = library.GGML_QUANT_SIZES[kinds[number]]
        if shape[0] % block or not all(shape):
            raise ImportRefusedError(
                f"{reader.path}: the tensor {name!r} has rows of {shape[0]} values, and blocks of "
                f"{named} have {block}."
            )
        return cls(name, shape[::-1], kinds[number], offset, shape[0] // block * size)

    @property
    def size(self) -> int:
        """Its bytes."""
        return math.prod(self.shape[:-1]) * self.row

    def dequantized(self, dequantize: Callable[..., Array], content: Any, start: int) -> Array:
        """Returns its values, float32, of a file's bytes whose tensors begin there."""
        stored = np.frombuffer(content, np.uint8, self.size, start + self.offset)
        with np.errstate(all="ignore"):  # Scales of damaged files, which are refused later.
            found = dequantize(stored.reshape(-1, self.row), self.kind)
        return np.asarray(found, np.float32).reshape(self.shape)
