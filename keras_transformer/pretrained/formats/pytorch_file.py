"""Reads the tensors of a `pytorch_model.bin` by name. Nothing of the file is run, and PyTorch is
not needed.

Since PyTorch 1.6 the file is a zip archive of a pickle and of each storage's bytes; `OldFile` is
what it was before.
"""

import io
import math
import struct
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.formats.pytorch_old_file import OLD, read_old_file
from keras_transformer.pretrained.formats.pytorch_pickle import (
    BFLOAT16,
    StoredTensor,
    UnreadableError,
    read_pickle,
    tensors_of,
)

Array = npt.NDArray[Any]

_PICKLE = "/data.pkl"
# What is raised for damaged archives, `UnreadableError` and names that are no UTF-8 included.
DAMAGE = (OSError, EOFError, ValueError, RuntimeError, struct.error, zipfile.BadZipFile)
# A pickle of names and shapes is a small part of its file.
_MOST_PICKLE = 1 << 28


def open_pytorch(path: Path) -> dict[str, Callable[[], Array]]:
    """Opens a file.

    Returns:
        For each name what reads the tensor; bfloat16 becomes float32.

    Raises:
        ImportRefusedError: It is damaged, or holds more than weights.
    """
    with path.open("rb") as file:
        beginning = file.read(len(OLD))
    if beginning != OLD and not beginning.startswith(b"PK"):
        raise ImportRefusedError(
            f"{path} is no whole file of PyTorch's: its zip archive is damaged or missing."
        )
    try:
        if beginning == OLD:
            return _open_old(path)
        with zipfile.ZipFile(path) as archive:
            return _open(path, archive)
    except DAMAGE as error:
        raise ImportRefusedError(
            f"{path} holds more than weights, or is damaged; nothing of it was run: {error}."
        ) from error


def _open(path: Path, archive: zipfile.ZipFile) -> dict[str, Callable[[], Array]]:
    entries = {one.filename: one for one in archive.infolist()}
    found = [name for name in entries if name.endswith(_PICKLE)]
    if len(found) != 1 or entries[found[0]].file_size > _MOST_PICKLE:
        raise UnreadableError(f"it has {len(found)} pickles, and one of weights is needed")
    folder = found[0].removesuffix(_PICKLE)
    order = ">" if _content(archive, entries, f"{folder}/byteorder") == b"big" else "<"
    pickle = _content(archive, entries, found[0])
    readers: dict[str, Callable[[], Array]] = {}
    for name, tensor in tensors_of(read_pickle(io.BytesIO(pickle or b""))):
        place = f"{folder}/data/{tensor.storage.key}"
        entry = entries.get(place)
        if entry is None or entry.compress_type != zipfile.ZIP_STORED:
            raise UnreadableError(
                f"{name} has its numbers in {tensor.storage.key}, which is not there"
            )
        _check(name, tensor, entry.file_size)
        readers[name] = partial(_read, path, name, partial(_entry, path, place), tensor, order)
    return readers


def _open_old(path: Path) -> dict[str, Callable[[], Array]]:
    file = read_old_file(path, _item_bytes)
    readers: dict[str, Callable[[], Array]] = {}
    for name, tensor in file.tensors.items():
        size = tensor.storage.size * _item_bytes(tensor.storage.kind)
        _check(name, tensor, size)
        content = partial(_part, path, file.places[tensor.storage.key], size)
        readers[name] = partial(_read, path, name, content, tensor, file.order)
    return readers


def _entry(path: Path, place: str) -> bytes:
    with zipfile.ZipFile(path) as archive:
        return archive.read(place)


def _part(path: Path, begin: int, size: int) -> bytes:
    with path.open("rb") as file:
        file.seek(begin)
        return file.read(size)


def _content(
    archive: zipfile.ZipFile, entries: dict[str, zipfile.ZipInfo], name: str
) -> bytes | None:
    if name not in entries:
        return None
    if entries[name].compress_type != zipfile.ZIP_STORED:
        raise UnreadableError(f"its entry {name} is compressed, as PyTorch's are not")
    return archive.read(name)


def _check(name: str, tensor: StoredTensor, size: int) -> None:
    """Checks a tensor's sizes against the bytes that there are, before memory is taken."""
    storage = tensor.storage
    if size != storage.size * _item_bytes(storage.kind):
        raise UnreadableError(f"{name} has a storage of {storage.size} numbers in {size} bytes")
    count = math.prod(tensor.shape)
    last = tensor.offset + sum(
        (size - 1) * stride for size, stride in zip(tensor.shape, tensor.strides, strict=True)
    )
    # A tensor may repeat numbers of its storage, but no weight does.
    if count > storage.size or (count and last >= storage.size):
        raise UnreadableError(
            f"{name} has the shape {tensor.shape}, more than its storage of {storage.size} numbers"
        )


def _item_bytes(kind: str) -> int:
    return 2 if kind == BFLOAT16 else np.dtype(kind).itemsize


def _read(
    path: Path, name: str, read: Callable[[], bytes], tensor: StoredTensor, order: str
) -> Array:
    try:
        content = read()
    except (*DAMAGE, KeyError) as error:
        raise ImportRefusedError(f"{path}: {name} cannot be read: {error}") from error
    kind = tensor.storage.kind
    numbers = np.frombuffer(content, f"{order}{'u2' if kind == BFLOAT16 else kind}")
    if not math.prod(tensor.shape):
        view = np.zeros(tensor.shape, numbers.dtype)
    else:
        strides = [stride * numbers.itemsize for stride in tensor.strides]
        view = np.lib.stride_tricks.as_strided(numbers[tensor.offset :], tensor.shape, strides)
    if kind == BFLOAT16:
        return (view.astype(np.uint32) << 16).view(np.float32)
    return np.ascontiguousarray(view.astype(kind, copy=False)).reshape(tensor.shape)
