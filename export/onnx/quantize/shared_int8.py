"""Linear layers with int8 weights for onnxruntime's operators, stored in the blocks that this
package's own operators read, so that one file of weights serves both.
"""

import numpy as np

from keras_transformer.export.onnx.graphs.builder import GraphBuilder, Operand, integers
from keras_transformer.export.onnx.layers.linear import Linear
from keras_transformer.export.onnx.quantize.int8 import Int8
from keras_transformer.export.onnx.quantize.native_linear import PackedLinear


class SharedInt8(Int8):
    """As `Int8`, for graphs that share their weights with those of `NativeInt8`."""

    def columns(
        self, graph: GraphBuilder, layer: Linear, *, summed: bool
    ) -> tuple[Operand, np.ndarray]:
        """Returns an int8 kernel `(inputs, outputs)` and the scales of its columns.

        onnxruntime takes it out of its blocks only once, when it loads the graph.
        """
        if self.batch_dependent:
            # Then our operators multiply no matrices.
            return super().columns(graph, layer, summed=summed)
        values, scales = self.lines(layer.kernel, 0 if layer.transposed else 1, summed=summed)
        lines = values if layer.transposed else values.T
        pack = PackedLinear.for_bytes if summed else PackedLinear.for_words
        blocks = pack(lines, scales, np.zeros_like(scales)).values
        key = ("unpacked", graph.operand(blocks))
        return graph.shared(key, lambda: _unpacked(graph, blocks, lines.shape[::-1])), scales


def _unpacked(graph: GraphBuilder, blocks: np.ndarray, shape: tuple[int, ...]) -> str:
    """Returns the kernel `(inputs, outputs)` of this shape that `PackedLinear` put in blocks."""
    count, groups, outputs, together = blocks.shape
    padded = (groups * together, count * outputs)
    found = graph.op("Transpose", blocks, perm=[1, 3, 0, 2])
    found = graph.reshape(found, *padded)
    if padded == shape:
        return found
    return graph.op("Slice", found, integers(0, 0), integers(*shape))
