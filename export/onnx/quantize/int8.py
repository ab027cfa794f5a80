"""8-bit weights for ONNX graphs: a float32 graph comes in, a copy leaves whose linear layers have
int8 weights and whose embedding table is int8, too.

Every kernel stores int8 weights with a scale for each output:

============  ===================================  ===================
kernel        operator that multiplies             scales of the inputs
============  ===================================  ===================
weights_only  float32's own                        none
words         our BytesLinear                      row, 16 bits
rows          MatMulIntegerToFloat, or             row
              MatMulInteger and a product
tensor        DynamicQuantizeMatMul                whole batch
============  ===================================  ===================

`weights_only` is multiplied out when onnxruntime loads the graph, the others quantise their inputs,
too. With the first three a row's result does not depend on the other rows, to the last bit. With
`tensor` it does, so it is never chosen unasked. What each matrix gets; `words` in graphs with this
package's own operators, where whole sub-layers of it become one (`native_sub_layers`):

============================  ==================  ===================
matrix                        unless asked        batch_dependent
============================  ==================  ===================
fewer than 131,072 weights    weights_only, or    tensor
                              words
others, such as the head's    rows                tensor
============================  ==================  ===================

With this package's operators `rows` is MatMulInteger and our ScaleSums, and the head's product part
of the operator that ranks its outputs.

Measured with onnxruntime 1.31 on one core, microseconds for 1 / 8 / 32 / 128 rows, with AVX512-VNNI
(above) and with AVX2 (below, a slower processor); `blocks` is MatMulNBits with blocks of 64, which
is not used:

===============  ===================  ===================  ===================  ===================
inputs×outputs   weights_only         rows                 tensor               blocks
===============  ===================  ===================  ===================  ===================
128×128          1.1 / 2.3 / 6 / 22   3.1 / 4.3 / 8 / 20   1.3 / 1.8 / 4 / 11   1.1 / 2.5 / 8 / 28
128×384          3 / 6 / 17 / 64      4 / 7 / 13 / 40      2 / 3 / 8 / 27       2 / 5 / 18 / 73
128×10000        68 / 130 / 510 /     23 / 55 / 187 /      40 / 63 / 185 /      22 / 112 / 440 /
                 1715                 754                  756                  1760
512×512          15 / 30 / 95 / 355   8 / 13 / 35 / 133    6 / 10 / 29 / 107    5 / 18 / 66 / 278
512×2048         95 / 230 / 510 /     22 / 42 / 131 /      19 / 36 / 120 /      17 / 68 / 260 /
                 1480                 475                  420                  1015
512×32000        2200 / 4250 /        230 / 920 / 2230 /   370 / 850 / 2330 /   420 / 1400 / 4200 /
                 8000 / 21800         9100                 7500                 15000
128×128          10 / 13 / 26 / 67    19 / 24 / 38 / 95    12 / 14 / 21 / 58    11 / 17 / 44 / 147
128×384          14 / 15 / 41 / 177   20 / 28 / 43 / 189   13 / 13 / 28 / 133   15 / 32 / 107 / 408
128×10000        147 / 447 / 1324 /   80 / 308 / 1027 /    106 / 271 / 805 /    135 / 649 / 2520 /
                 4914                 4499                 2946                 9650
512×512          36 / 79 / 244 / 910  39 / 79 / 200 / 690  25 / 57 / 164 / 587  31 / 123 / 431 /
                                                                                1710
512×2048         114 / 273 / 1014 /   67 / 178 / 622 /     50 / 150 / 571 /     95 / 433 / 1660 /
                 3601                 2380                 2115                 6550
512×32000        3993 / 7245 /        1255 / 3102 /        1285 / 2933 /        1570 / 6550 /
                 16847 / 54798        9787 / 35850         8362 / 31151         24500 / 95000
===============  ===================  ===================  ===================  ===================

The kernel cannot follow the number of rows at run time: a sentence alone and the same sentence in a
batch would meet different kernels.

With `summed` scales (`int8_matrices`) no processor cuts sums of bytes off: the session option
`session.x64quantprecision`, which takes a slower way round that, is not needed.
"""

from collections import Counter

import onnx

from keras_transformer.export.onnx.graphs.operators import MICROSOFT, NATIVE
from keras_transformer.export.onnx.quantize.int8_kernels import Int8Kernels
from keras_transformer.export.onnx.quantize.linear_nodes import (
    GraphIndex,
    LinearNode,
    remove_unread,
)
from keras_transformer.export.onnx.quantize.native_sub_layers import merge_sub_layers

# From here on the operators that `rows` adds cost less than its product saves.
_FEW_WEIGHTS = 1 << 17
# ReduceMax takes its axes as an input since then.
_LOWEST_OPSET = 18


def quantize_int8(
    model: onnx.ModelProto, *, batch_dependent: bool = False, ranked: str = ""
) -> onnx.ModelProto:
    """Returns a copy whose linear layers and large embedding tables hold int8 weights.

    Linear layers are Gemm and MatMul nodes of the main graph whose second input is a stored float32
    matrix or its transpose; their first input must have two axes. A matrix that an embedding and
    the head share is stored once. Biases and norms stay float32, as do inputs and outputs.

    Args:
        model: A float32 graph of opset 18 or newer; it is left as it is.
        batch_dependent: Quantise inputs with one scale for the whole batch, about a tenth faster in
            large batches: a sentence's result then depends on which others share its batch.
        ranked: Output of which the one node that reads it needs no more than the largest of each
            row: it reads it before it is multiplied by the rows' scales. A graph with this
            package's operators need not have it at all.

    Raises:
        ValueError: There is no linear layer to quantise, the opset is too old, or a matrix holds a
            value that is not finite; the message names it.
    """
    _check_opset(model)
    quantized = onnx.ModelProto()
    quantized.CopyFrom(model)
    graph = quantized.graph
    index = GraphIndex(graph)
    native = any(entry.domain == NATIVE for entry in model.opset_import)
    kernels = Int8Kernels(index, native=native)
    ranked_by_us = _ranked_by_us(graph, ranked)
    heads: dict[str, LinearNode] = {}
    found = 0
    for node in graph.node:
        layer = index.linear(node)
        if layer is not None:
            found += 1
            if batch_dependent:
                kernels.tensor(layer)
            elif index.size(layer.matrix.name) < _FEW_WEIGHTS:
                kernels.words(layer) if native else kernels.weights_only(layer, node)
            elif layer.output in ranked_by_us:
                heads[layer.output] = layer
            else:
                kernels.rows(layer)
        elif node.input and node.input[0] in heads:
            kernels.head(heads[node.input[0]], node)
        elif node.output[0] in kernels.merged:
            continue
        elif index.is_lookup(node) and index.size(node.input[0]) >= _FEW_WEIGHTS:
            kernels.lookup(node)
        else:
            kernels.nodes.append(node)
    if not found:
        raise ValueError(
            "the graph has no linear layer with a stored float32 matrix: give a float32 graph that "
            "was not quantised before."
        )
    _replace_nodes(quantized, kernels)
    if native:
        merge_sub_layers(graph)
    for node in quantized.graph.node:
        if ranked in node.input and ranked in kernels.unscaled:
            node.input[list(node.input).index(ranked)] = kernels.unscaled[ranked]
    return quantized


def _ranked_by_us(graph: onnx.GraphProto, ranked: str) -> set[str]:
    """Returns the values that only an operator of this package reads, which could compute them."""
    times_read = Counter(name for node in graph.node for name in node.input)
    found: set[str] = set()
    for node in graph.node:
        # The former gives what it has ranked, too.
        if node.domain == NATIVE and (
            node.op_type == "BestContinuations"
            or (node.op_type == "LargestPlace" and node.input[0] == ranked)
        ):
            found.update(name for name in node.input[:1] if times_read[name] == 1)
    return found


def _check_opset(model: onnx.ModelProto) -> None:
    opset = next((entry.version for entry in model.opset_import if not entry.domain), 0)
    if opset < _LOWEST_OPSET:
        raise ValueError(
            f"int8 needs opset {_LOWEST_OPSET} or newer, the graph has {opset}: export it with "
            f"opset={_LOWEST_OPSET}."
        )


def _replace_nodes(model: onnx.ModelProto, kernels: Int8Kernels) -> None:
    graph = model.graph
    del graph.node[:]
    graph.node.extend(kernels.nodes)
    graph.initializer.extend(kernels.stored.values())
    remove_unread(graph)
    # They may name values that are gone; readers infer what they need.
    del graph.value_info[:]
    if all(entry.domain != MICROSOFT for entry in model.opset_import):
        model.opset_import.append(onnx.helper.make_opsetid(MICROSOFT, 1))
