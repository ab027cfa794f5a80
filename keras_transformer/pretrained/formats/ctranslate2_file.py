"""Reads the `model.bin` of CTranslate2, its tensors by name.

The file is a version, the name and the revision of the model's kind, then each tensor with name,
shape, type and bytes, then further names of tensors.
"""

import struct
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.pointers import refuse_pointer
from keras_transformer.pretrained.tensor_files import Tensors

MODEL = "model.bin"
# By their numbers in the file; the others hold rounded weights.
_TYPES = ("float32", "int8", "int16", "int32", "float16")
_MOST_AXES = 4
_VERSIONS = range(5, 7)


class _Reader:
    """Reads values one after another, never beyond the end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._content = memoryview(path.read_bytes())
        self._place = 0

    def number(self, kind: str) -> int:
        """Reads an unsigned integer, by its letter in `struct`."""
        return struct.unpack(f"<{kind}", self.take(struct.calcsize(f"<{kind}")))[0]

    def text(self) -> str:
        """Reads a string, which a zero ends."""
        return bytes(self.take(self.number("H"))).rstrip(b"\0").decode()

    def take(self, size: int) -> memoryview:
        """Reads bytes."""
        if size > len(self._content) - self._place:
            raise ImportRefusedError(
                f"{self.path} is no whole model of CTranslate2: it ends early."
            )
        self._place += size
        return self._content[self._place - size : self._place]


def open_ctranslate2(path: Path) -> tuple[str, Tensors]:
    """Reads a file.

    Returns:
        The name of the model's kind, such as "TransformerSpec", and the tensors.

    Raises:
        ImportRefusedError: It is damaged, of another version, or holds rounded weights.
    """
    refuse_pointer(path)
    reader = _Reader(path)
    version = reader.number("I")
    if version not in _VERSIONS:
        raise ImportRefusedError(
            f"{path} is a model of CTranslate2's version {version}: versions {_VERSIONS[0]} and "
            f"{_VERSIONS[-1]} are supported."
        )
    try:
        name, _ = reader.text(), reader.number("I")
        tensors = dict(_tensor(reader) for _ in range(reader.number("I")))
        for _ in range(reader.number("I")):
            other, known = reader.text(), reader.text()
            tensors[other] = tensors[known]
    except (UnicodeDecodeError, KeyError, ValueError) as error:
        if isinstance(error, ImportRefusedError):
            raise
        raise ImportRefusedError(f"{path} is damaged: {error}") from error
    return name, Tensors({key: partial(np.asarray, one) for key, one in tensors.items()}, str(path))


def _tensor(reader: _Reader) -> tuple[str, npt.NDArray[Any]]:
    name, axes = reader.text(), reader.number("B")
    if axes > _MOST_AXES:
        raise ImportRefusedError(f"{reader.path} is damaged: {name!r} has {axes} axes.")
    shape = tuple(reader.number("I") for _ in range(axes))
    number, size = reader.number("B"), reader.number("I")
    kind = _TYPES[number] if number < len(_TYPES) else f"type {number}"
    if axes > 1 and kind not in ("float32", "float16"):
        raise ImportRefusedError(
            f"{reader.path} holds {kind} weights, which were rounded: import the model that was "
            "converted without quantization."
        )
    array = np.frombuffer(reader.take(size), kind)
    if array.size != int(np.prod(shape, dtype=np.int64)):
        raise ImportRefusedError(f"{reader.path} is damaged: {name} has {array.size} values.")
    return name, array.reshape(shape)
