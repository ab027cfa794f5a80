"""The weights that an ONNX graph keeps in a file beside it, found by reading the few fields of
protobuf's wire format that name them.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from onnxruntime import OrtValue

# Fields of ModelProto, GraphProto, TensorProto and StringStringEntryProto in onnx.proto.
_GRAPH, _INITIALIZER = 7, 5
_DIMS, _DATA_TYPE, _NAME, _EXTERNAL = 1, 2, 8, 13
_KEY, _VALUE = 1, 2
# Kinds of fields in protobuf, with the bytes of those of a fixed size.
_VARINT, _BYTES, _FIXED = 0, 2, {1: 8, 5: 4}
# Bytes of a number of each type (TensorProto.DataType).
_ITEM_BYTES = {1: 4, 2: 1, 3: 1, 4: 2, 5: 2, 6: 4, 7: 8, 9: 1, 10: 2, 11: 8, 12: 4, 13: 8, 16: 2}

Bytes = npt.NDArray[np.uint8]


class OutsideTensor(NamedTuple):
    """An initializer whose values are in a file.

    Attributes:
        name: Its name in the graph.
        data_type: ONNX's number for the type.
        shape: Its sizes.
        file: The file's name.
        offset: Where its values begin there, in bytes.
    """

    name: str
    data_type: int
    shape: tuple[int, ...]
    file: str
    offset: int

    def values(self, content: Bytes) -> OrtValue:
        """Returns the tensor over the memory of the file's content, which must outlive it.

        Raises:
            ValueError: The content has no such place, or the type has no numbers of whole bytes.
        """
        if self.data_type not in _ITEM_BYTES or min(self.shape, default=0) < 0:
            raise ValueError(f"{self.name} cannot have type {self.data_type}, sizes {self.shape}.")
        item = _ITEM_BYTES[self.data_type]
        end = self.offset + item * math.prod(self.shape)
        if not 0 <= self.offset <= end <= len(content):
            raise ValueError(
                f"{self.name} must lie in the {len(content)} bytes of {self.file}, got "
                f"{self.offset} to {end}."
            )
        array = content[self.offset : end].view(f"u{item}").reshape(self.shape)
        return OrtValue.ortvalue_from_numpy_with_onnx_type(array, self.data_type)


def outside_tensors(graph: bytes) -> list[OutsideTensor]:
    """Returns the tensors whose values are outside a graph.

    Args:
        graph: The bytes of an ONNX file.

    Raises:
        ValueError: They are not a protobuf message, or a tensor's place is not a number.
    """
    view = memoryview(graph)
    return [
        _outside(tensor, entries)
        for number, inner in _fields(view)
        if number == _GRAPH
        for number, tensor in _fields(inner)
        if number == _INITIALIZER and (entries := _external(tensor))
    ]


def _external(tensor: memoryview) -> dict[str, str]:
    entries = (dict(_fields(entry)) for number, entry in _fields(tensor) if number == _EXTERNAL)
    return {_text(entry.get(_KEY, b"")): _text(entry.get(_VALUE, b"")) for entry in entries}


def _outside(tensor: memoryview, entries: dict[str, str]) -> OutsideTensor:
    fields = list(_fields(tensor))
    found = dict(fields)
    dims = [value for number, value in fields if number == _DIMS]
    return OutsideTensor(
        name=_text(found.get(_NAME, b"")),
        data_type=_integer(found.get(_DATA_TYPE, 0)),
        shape=tuple(size for value in dims for size in _sizes(value)),
        file=entries.get("location", ""),
        offset=int(entries.get("offset", "0")),
    )


def _sizes(value: Any) -> Iterator[int]:
    """Yields a field's numbers, of which it has one, or packed into bytes any number."""
    if isinstance(value, int):
        yield value
        return
    place = 0
    while place < len(value):
        size, place = _varint(value, place)
        yield size


def _integer(value: Any) -> int:
    if not isinstance(value, int):
        raise ValueError("a number was expected, got bytes.")
    return value


def _text(value: Any) -> str:
    return bytes(_message(value)).decode("utf-8")


def _message(value: Any) -> Any:
    if isinstance(value, int):
        raise ValueError(f"bytes were expected, got {value}.")
    return value


def _fields(message: Any) -> Iterator[tuple[int, Any]]:
    """Yields the number and the value of each field: an integer, or a view of its bytes."""
    place, message = 0, _message(message)
    while place < len(message):
        tag, place = _varint(message, place)
        kind = tag & 7
        if kind == _VARINT:
            value, place = _varint(message, place)
            yield tag >> 3, value
            continue
        if kind == _BYTES:
            size, place = _varint(message, place)
        elif kind in _FIXED:
            size = _FIXED[kind]
        else:
            raise ValueError(f"field {tag >> 3} is of kind {kind}, which protobuf has not.")
        if place + size > len(message):
            raise ValueError(f"field {tag >> 3} is cut short.")
        yield tag >> 3, message[place : place + size]
        place += size


def _varint(message: Any, place: int) -> tuple[int, int]:
    """Returns the number at a place, and the place behind it."""
    value = shift = 0
    while place < len(message) and shift < 64:
        byte = message[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7
    raise ValueError("a number is cut short.")
