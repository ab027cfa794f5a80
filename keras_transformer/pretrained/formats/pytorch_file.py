"""Reads a `pytorch_model.bin`: takes its path and returns its tensors by name. Nothing of the file
is run, and PyTorch is not needed.

Since PyTorch 1.6 the file is a zip archive of a pickle and of each storage's bytes.
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
from keras_transformer.pretrained.formats.pytorch_pickle import (
    BFLOAT16,
    StoredTensor,
    UnreadableError,
    read_pickle,
    tensors_of,
)

Array = npt.NDArray[Any]

_PICKLE = "/data.pkl"
# What files of before 1.6 begin with: a pickled number.
_OLD = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
# What is raised for damaged archives, `UnreadableError` and names that are no UTF-8 included.
DAMAGE = (OSError, EOFError, ValueError, RuntimeError, struct.error, zipfile.BadZipFile)
# A pickle of names and shapes is a small part of its file.
_MOST_PICKLE = 1 << 28


def open_pytorch(path: Path) -> dict[str, Callable[[], Array]]:
    """Opens a file.

    Returns:
        For each name what reads the tensor; bfloat16 becomes float32.

    Raises:
        ImportRefusedError: It is damaged, of a PyTorch before 1.6, or holds more than weights.
    """
    with path.open("rb") as file:
        beginning = file.read(len(_OLD))
    if not beginning.startswith(b"PK"):
        is_old = beginning == _OLD
        raise ImportRefusedError(
            f"{path} was saved by a PyTorch before 1.6, whose files are not read: load it with "
            "PyTorch and save it again, best as model.safetensors."
            if is_old
            else f"{path} is no whole file of PyTorch's: its zip archive is damaged or missing."
        )
    try:
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
        _check(name, tensor, entries.get(place))
        readers[name] = partial(_read, path, name, place, tensor, order)
    return readers


def _content(
    archive: zipfile.ZipFile, entries: dict[str, zipfile.ZipInfo], name: str
) -> bytes | None:
    if name not in entries:
        return None
    if entries[name].compress_type != zipfile.ZIP_STORED:
        raise UnreadableError(f"its entry {name} is compressed, as PyTorch's are not")
    return archive.read(name)


def _check(name: str, tensor: StoredTensor, entry: zipfile.ZipInfo | None) -> None:
    """Checks a tensor's sizes against the bytes that there are, before memory is taken."""
    storage = tensor.storage
    if entry is None or entry.compress_type != zipfile.ZIP_STORED:
        raise UnreadableError(f"{name} has its numbers in {storage.key}, which is not there")
    if entry.file_size != storage.size * _item_bytes(storage.kind):
        raise UnreadableError(
            f"{name} has a storage of {storage.size} numbers in {entry.file_size} bytes"
        )
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


def _read(path: Path, name: str, place: str, tensor: StoredTensor, order: str) -> Array:
    try:
        with zipfile.ZipFile(path) as archive:
            content = archive.read(place)
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
