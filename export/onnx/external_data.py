"""Saves ONNX graphs of any size: a graph comes in, a file leaves, and a second one with the weights
where one file could not hold them. Protobuf, which ONNX is written in, ends at 2 GB.
"""

import math
import os
from pathlib import Path

import onnx

# Protobuf's limit is 2^31 bytes; the rest is for nodes and small tensors.
LARGEST_INSIDE = 2_000_000_000
DATA_SUFFIX = ".data"
# Shapes and other small tensors stay in the graph, where checkers and readers look for them.
_SMALLEST_OUTSIDE = 1024


def save_graph(
    model: onnx.ModelProto, path: str | os.PathLike[str], *, largest_inside: int = LARGEST_INSIDE
) -> list[str]:
    """Writes a graph, its weights in a file of their own where they are too large for one.

    Readers find the second file by its name beside the first, so the two must stay together.

    Args:
        model: The graph, weights in memory; it is left as it is.
        path: File to write, such as `decoder.onnx`; one that exists is replaced, with its weights.
        largest_inside: Bytes of weights from which on they go into a file of their own.

    Returns:
        Names of the files written beside `path`: none, or one such as `decoder.onnx.data`.

    Raises:
        ValueError: `largest_inside` is not between 0 and 2,000,000,000, or the graph's weights are
            in a file already.
    """
    path = Path(path)
    if not 0 <= largest_inside <= LARGEST_INSIDE:
        raise ValueError(
            f"largest_inside must be between 0 and {LARGEST_INSIDE:,} bytes, got {largest_inside}."
        )
    outside = [t.name for t in model.graph.initializer if t.external_data]
    if outside:
        raise ValueError(
            f"the weights of {outside[0]!r} are in another file: load the graph with onnx.load, "
            "which reads them."
        )
    data = path.with_name(path.name + DATA_SUFFIX)
    # onnx would append to a file that is there.
    data.unlink(missing_ok=True)
    if weight_bytes(model) <= largest_inside:
        onnx.save_model(model, str(path))
        return []
    # onnx takes the weights out of the graph that it is given.
    emptied = onnx.ModelProto()
    emptied.CopyFrom(model)
    onnx.save_model(
        emptied,
        str(path),
        save_as_external_data=True,
        all_tensors_to_one_file=True,
        location=data.name,
        size_threshold=_SMALLEST_OUTSIDE,
    )
    return [data.name] if data.exists() else []


def weight_bytes(model: onnx.ModelProto) -> int:
    """Returns how many bytes a graph's weights take, without copying or writing them."""
    sizes = (
        math.prod(tensor.dims) * onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
        for tensor in model.graph.initializer
    )
    return sum(sizes)
