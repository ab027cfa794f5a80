"""Reads the storages of a `pytorch_model.bin` of PyTorch before 1.6: pickles of a magic number, a
version, the machine and the tensors, then the storages' names, and each storage's size and bytes.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from keras_transformer.pretrained.formats.pytorch_pickle import (
    StoredTensor,
    UnreadableError,
    read_pickle,
    tensors_of,
)

# What these files begin with, as a pickled number and as itself.
OLD = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
_MAGIC, _VERSION = 0x1950A86A20F9469CFC6C, 1001
# A storage's bytes follow its number of elements.
_COUNT_BYTES = 8


class OldFile(NamedTuple):
    """The contents of a file.

    Attributes:
        tensors: Its tensors by name.
        places: Where each storage's bytes begin, by its name.
        order: The order of the bytes of a number: "<" or ">".
    """

    tensors: dict[str, StoredTensor]
    places: dict[str, int]
    order: str


def read_old_file(path: Path, item_bytes: Callable[[str], int]) -> OldFile:
    """Reads all but the numbers.

    Args:
        path: The file.
        item_bytes: Takes a kind of numbers and returns the bytes of one.

    Raises:
        UnreadableError: It is damaged or holds more than weights.
    """
    with path.open("rb") as file:
        magic, version, machine = (read_pickle(file) for _ in range(3))
        if (magic, version) != (_MAGIC, _VERSION) or not isinstance(machine, dict):
            raise UnreadableError(f"it is of version {version!r}, and {_VERSION} is supported")
        tensors = dict(tensors_of(read_pickle(file)))
        storages = {one.storage.key: one.storage for one in tensors.values()}
        names, places = read_pickle(file), {}
        if not isinstance(names, list):
            raise UnreadableError("it has no list of storages")
        order = "<" if machine.get("little_endian", True) else ">"
        for name in names:
            storage = storages.get(name) if isinstance(name, str) else None
            if storage is None:
                raise UnreadableError(f"its storage {name!r} has no tensor")
            count = int.from_bytes(file.read(_COUNT_BYTES), "little" if order == "<" else "big")
            if count != storage.size:
                raise UnreadableError(f"its storage {name} has {count} numbers, not {storage.size}")
            places[name] = file.tell()
            file.seek(count * item_bytes(storage.kind), os.SEEK_CUR)
        if file.tell() > path.stat().st_size:
            raise UnreadableError("its end is missing")
    for name, tensor in tensors.items():
        key = tensor.storage.key
        if key not in places or tensor.storage != storages[key]:
            raise UnreadableError(f"{name} has its numbers in {key}, which is not there")
    return OldFile(tensors, places, order)
