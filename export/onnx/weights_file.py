"""Saves the graphs of one artefact with all their weights in one file beside them: graphs come in,
files leave. A matrix that several graphs hold is stored once, and no graph outgrows the 2 GB at
which protobuf, the form of ONNX files, ends.
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

    Readers find the weights by the file's name beside the graphs, so all must stay together.

    Args:
        graphs: Names of files and graphs with their weights in memory; each is written, and emptied
            of its weights, before the next is asked for.
        directory: Where to write.
        weights_file: Name of the file for the weights.
    """
    stored: dict[bytes, int] = {}
    with open(directory / weights_file, "wb") as stream:
        for file, graph in graphs:
            for tensor in graph.graph.initializer:
                _move(tensor, stream, stored, weights_file)
            onnx.save_model(graph, str(directory / file))


def _move(
    tensor: onnx.TensorProto, stream: BinaryIO, stored: dict[bytes, int], weights_file: str
) -> None:
    """Takes a tensor's values out of the graph, into the file where they are not there yet."""
    values = np.ascontiguousarray(to_array(tensor))
    if values.nbytes < _SMALLEST_OUTSIDE:
        return
    digest = hashlib.sha256(values.data.cast("B")).digest()
    if digest not in stored:
        stream.write(bytes(-stream.tell() % _ALIGNMENT))
        stored[digest] = stream.tell()
        stream.write(values.data.cast("B"))
    # The values of a tensor may stand in any of several fields.
    emptied = onnx.TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
    # set_external_data asks for values in this field, which are dropped at once.
    emptied.raw_data = b""
    set_external_data(emptied, weights_file, offset=stored[digest], length=values.nbytes)
    emptied.ClearField("raw_data")
    tensor.CopyFrom(emptied)
