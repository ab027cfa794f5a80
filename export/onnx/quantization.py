"""8-bit weights for ONNX graphs: a float32 graph comes in, a copy leaves whose linear layers have
int8 weights and whose embedding table is int8, too.

Every kernel stores int8 weights and takes float32 inputs, which it quantises, too:

======  ==================================  ======================  =====================
kernel  operator that multiplies            scales of the weights   scales of the inputs
======  ==================================  ======================  =====================
blocks  MatMulNBits, accuracy level 4       64 inputs of an output  64 values of a row
rows    MatMulIntegerToFloat, or            output                  row
        MatMulInteger and a product
tensor  DynamicQuantizeMatMul               output                  whole batch
======  ==================================  ======================  =====================

With `blocks` and `rows` a row's result does not depend on the other rows, to the last bit. With
`tensor` it does, so it is never chosen unasked. What each matrix gets:

===============================  ===================  ================  ===================
matrix                           rows="few" (step)    rows="many"       batch_dependent
===============================  ===================  ================  ===================
fewer than 131,072 weights       blocks               rows              tensor
others, such as the head's       rows                 rows              tensor
===============================  ===================  ================  ===================

Measured with onnxruntime 1.31 on one core with AVX512-VNNI, microseconds for 1 / 8 / 32 / 128 rows:

===============  ==================  ==================  ==================  ==================
inputs×outputs   float32             blocks              rows                tensor
===============  ==================  ==================  ==================  ==================
128×128          1.1 / 2.3 / 6 / 22  1.1 / 2.5 / 8 / 28  3.1 / 4.3 / 8 / 20  1.3 / 1.8 / 4 / 11
128×384          3 / 6 / 17 / 64     2 / 5 / 18 / 73     4 / 7 / 13 / 40     2 / 3 / 8 / 27
128×10000        68 / 130 / 510 /    22 / 112 / 440 /    23 / 55 / 187 /     40 / 63 / 185 /
                 1715                1760                754                 756
512×512          15 / 30 / 95 / 355  5 / 18 / 66 / 278   8 / 13 / 35 / 133   6 / 10 / 29 / 107
512×2048         95 / 230 / 510 /    17 / 68 / 260 /     22 / 42 / 131 /     19 / 36 / 120 /
                 1480                1015                475                 420
512×32000        2200 / 4250 /       420 / 1400 /        230 / 920 / 2230 /  370 / 850 / 2330 /
                 8000 / 21800        4200 / 15000        9100                7500
===============  ==================  ==================  ==================  ==================

A whole decode step takes 0.73 to 0.89 of float32's time for a Transformer of width 128, and 0.37 to
0.51 for one of width 512; with `tensor`, 0.59 to 0.85 and 0.34 to 0.48 (1 to 128 rows).

The kernel cannot follow the number of rows at run time: a sentence alone and the same sentence in a
batch would meet different kernels. Blocks of 128 and more are no alternative: onnxruntime sums the
last of an odd number of rows in another order.

x86 processors without VNNI saturate sums of two products of unsigned and signed bytes: there the
session option `session.x64quantprecision` must be "1" for `rows` and `tensor`. With VNNI it must
not be: it would only double the time.
"""

from typing import Literal

import onnx

from .int8_kernels import Int8Kernels
from .linear_nodes import GraphIndex, LinearNode, remove_unread
from .operators import MICROSOFT

Rows = Literal["few", "many"]

# From here on the operators that `rows` adds cost less than its product saves.
_FEW_WEIGHTS = 1 << 17
# ReduceMax takes its axes as an input since then.
_LOWEST_OPSET = 18


def quantize_int8(
    model: onnx.ModelProto, *, rows: Rows, batch_dependent: bool = False, ranked: str = ""
) -> onnx.ModelProto:
    """Returns a copy whose linear layers and large embedding tables hold int8 weights.

    Linear layers are Gemm and MatMul nodes of the main graph whose second input is a stored float32
    matrix or its transpose; their first input must have two axes. A matrix that an embedding and
    the head share is stored once. Biases and norms stay float32, as do inputs and outputs.

    Args:
        model: A float32 graph of opset 18 or newer; it is left as it is.
        rows: "few" where a run has a row for each hypothesis (a decode step), "many" where it has
            a row for each token (an encoder): both give the same accuracy, but not the same speed.
        batch_dependent: Quantise inputs with one scale for the whole batch, up to 1.3 times faster
            with small models: a sentence's result then depends on which others share its batch.
        ranked: Output of which other nodes need no more than the order within each row: they read
            it before it is multiplied by the rows' scales.

    Raises:
        ValueError: There is no linear layer to quantise, the opset is too old, or a matrix holds a
            value that is not finite; the message names it.
    """
    if rows not in ("few", "many"):
        raise ValueError(f"rows must be 'few' or 'many', got {rows!r}.")
    _check_opset(model)
    quantized = onnx.ModelProto()
    quantized.CopyFrom(model)
    graph = quantized.graph
    index = GraphIndex(graph)
    kernels = Int8Kernels(index)
    found = 0
    for node in graph.node:
        layer = index.linear(node)
        if layer is not None:
            _quantize_layer(kernels, layer, index, rows, batch_dependent)
            found += 1
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
    for node in quantized.graph.node:
        if ranked in node.input and ranked in kernels.unscaled:
            node.input[list(node.input).index(ranked)] = kernels.unscaled[ranked]
    return quantized


def _check_opset(model: onnx.ModelProto) -> None:
    opset = next((entry.version for entry in model.opset_import if not entry.domain), 0)
    if opset < _LOWEST_OPSET:
        raise ValueError(
            f"int8 needs opset {_LOWEST_OPSET} or newer, the graph has {opset}: export it with "
            f"opset={_LOWEST_OPSET}."
        )


def _quantize_layer(
    kernels: Int8Kernels, layer: LinearNode, index: GraphIndex, rows: Rows, batch_dependent: bool
) -> None:
    if batch_dependent:
        kernels.tensor(layer)
    elif rows == "few" and index.size(layer.matrix.name) < _FEW_WEIGHTS:
        kernels.blocks(layer)
    else:
        kernels.rows(layer)


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
