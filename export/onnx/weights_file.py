"""The files of an artefact's graphs, with all weights in one file beside them: a matrix of several
graphs is stored once, and no graph exceeds protobuf's limit of 2 GB.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

import numpy as np
import onnx
from onnx.external_data_helper import set_external_data
from onnx.numpy_helper import to_array

# Shapes and other small tensors stay in the graph, where checkers and readers look for them.
_SMALLEST_OUTSIDE = 1024
# As wide as the widest vector registers, so that a mapped matrix can be read in place.
_ALIGNMENT = 64


def save_graphs(
    graphs: Iterable[tuple[str, onnx.ModelProto]], directory: Path, weights_file: str
) -> None:
    """Writes graphs and the weights that they share.

    Readers find the weights by the name of a file beside the graphs, so all must stay together.

    Args:
        graphs: File names and graphs with their weights in memory; each is written, and its weights
            are removed from memory, before the next is requested.
        directory: Where to write.
        weights_file: Name of the file for the weights.
    """
    stored: dict[bytes, int] = {}
    with open(directory / weights_file, "wb") as stream:
        for file, graph in graphs:
            _move_all(graph.graph.initializer, stream, stored, weights_file)
            onnx.save_model(graph, str(directory / file))
            # Emptied or not, a message keeps its memory until nothing refers to it.
            del graph


def _move_all(
    tensors: Iterable[onnx.TensorProto],
    stream: BinaryIO,
    stored: dict[bytes, int],
    weights_file: str,
) -> None:
    for tensor in tensors:
        _move(tensor, stream, stored, weights_file)


def _move(
    tensor: onnx.TensorProto, stream: BinaryIO, stored: dict[bytes, int], weights_file: str
) -> None:
    """Moves a tensor's values from the graph to the file, unless the file has them already."""
    values = np.ascontiguousarray(to_array(tensor)).reshape(-1).view(np.uint8)
    if values.nbytes < _SMALLEST_OUTSIDE:
        return
    digest = hashlib.sha256(values.data).digest()
    if digest not in stored:
        stream.write(bytes(-stream.tell() % _ALIGNMENT))
        stored[digest] = stream.tell()
        stream.write(values.data)
    # The values of a tensor may be in any of several fields.
    emptied = onnx.TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
    # set_external_data expects the values in this field, which is cleared at once.
    emptied.raw_data = b""
    set_external_data(emptied, weights_file, offset=stored[digest], length=values.nbytes)
    emptied.ClearField("raw_data")
    tensor.CopyFrom(emptied)
