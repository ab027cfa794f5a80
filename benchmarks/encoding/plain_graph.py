"""The ONNX graph that PyTorch's exporter writes for BERT, made of an encoder's weights: plain
operators only, in the patterns that `onnxruntime.transformers` fuses.
"""

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

_OPSET = 17
_FORBIDDEN = -10_000.0


def plain_graph(
    weights: Mapping[str, np.ndarray], num_layers: int, num_heads: int, epsilon: float
) -> onnx.ModelProto:
    """Builds the graph.

    Args:
        weights: From `named_weights`.
        num_layers: Blocks.
        num_heads: Heads of each.
        epsilon: Of the normalisations.

    Returns:
        A model from `input_ids`, `attention_mask` (1 at real tokens) and `token_type_ids`, int64
        `(batch, length)`, to `last_hidden_state` `(batch, length, model_dim)`.
    """
    graph = _Graph(weights, num_heads, epsilon)
    states = graph.embed()
    mask = graph.mask()
    for number in range(num_layers):
        states = graph.block(str(number), states, mask)
    graph.nodes[-1].output[0] = "last_hidden_state"
    names = ("input_ids", "attention_mask", "token_type_ids")
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
        for name in names
    ]
    shape = ["batch", "length", graph.width]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, shape)
    made = helper.make_graph(graph.nodes, "encoder", inputs, [output], graph.constants)
    opset = helper.make_opsetid("", _OPSET)
    return helper.make_model(made, opset_imports=[opset], ir_version=9)


class _Graph:
    """The nodes so far; every method adds some and returns the name of what they give."""

    def __init__(self, weights: Mapping[str, np.ndarray], heads: int, epsilon: float) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants = [numpy_helper.from_array(w, name) for name, w in weights.items()]
        self.places = len(weights["positions"])
        self.width = weights["tokens"].shape[1]
        self.heads, self.epsilon = heads, epsilon

    def add(self, operator: str, *inputs: str, **attributes: object) -> str:
        name = f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], name, **attributes))
        return name

    def constant(self, name: str, values: object, dtype: type = np.int64) -> str:
        if all(known.name != name for known in self.constants):
            self.constants.append(numpy_helper.from_array(np.array(values, dtype), name))
        return name

    def embed(self) -> str:
        zeros, ones = self.constant("zeros", [0]), self.constant("ones", [1])
        one = self.constant("one", 1)
        length = self.add("Gather", self.add("Shape", "input_ids"), one, axis=0)
        end = self.add("Unsqueeze", length, zeros)
        places = self.constant("places", [list(range(self.places))])
        here = self.add("Slice", places, zeros, end, ones, ones)
        tokens = self.add("Gather", "tokens", "input_ids")
        types = self.add("Gather", "token_types", "token_type_ids")
        states = self.add("Add", tokens, types)
        states = self.add("Add", states, self.add("Gather", "positions", here))
        return self.norm("norm", states)

    def mask(self) -> str:
        mask = self.add("Unsqueeze", "attention_mask", self.constant("ones", [1]))
        mask = self.add("Unsqueeze", mask, self.constant("twos", [2]))
        mask = self.add("Cast", mask, to=TensorProto.FLOAT)
        mask = self.add("Sub", self.constant("one_float", 1, np.float32), mask)
        return self.add("Mul", mask, self.constant("forbidden", _FORBIDDEN, np.float32))

    def block(self, number: str, states: str, mask: str) -> str:
        attended = self.attention(number, states, mask)
        states = self.norm(f"{number}.attention_norm", self.add("Add", attended, states))
        hidden = self.gelu(self.linear(f"{number}.hidden", states))
        transformed = self.linear(f"{number}.transformed", hidden)
        return self.norm(f"{number}.feed_forward_norm", self.add("Add", transformed, states))

    def attention(self, number: str, states: str, mask: str) -> str:
        width = self.width // self.heads
        split = self.constant("split", [0, 0, self.heads, width])
        parts = [
            self.add(
                "Transpose",
                self.add("Reshape", self.linear(f"{number}.{name}", states), split),
                perm=[0, 2, 3, 1] if name == "key" else [0, 2, 1, 3],
            )
            for name in ("query", "key", "value")
        ]
        scale = self.constant("scale", width**0.5, np.float32)
        scores = self.add("Div", self.add("MatMul", parts[0], parts[1]), scale)
        shares = self.add("Softmax", self.add("Add", scores, mask), axis=-1)
        read = self.add("Transpose", self.add("MatMul", shares, parts[2]), perm=[0, 2, 1, 3])
        joined = self.add("Reshape", read, self.constant("join", [0, 0, self.width]))
        return self.linear(f"{number}.output", joined)

    def linear(self, name: str, states: str) -> str:
        return self.add("Add", self.add("MatMul", states, f"{name}.kernel"), f"{name}.bias")

    def gelu(self, states: str) -> str:
        root = self.constant("root", 2**0.5, np.float32)
        error = self.add("Erf", self.add("Div", states, root))
        share = self.add("Add", error, self.constant("one_float", 1, np.float32))
        product = self.add("Mul", states, share)
        return self.add("Mul", product, self.constant("half", 0.5, np.float32))

    def norm(self, name: str, states: str) -> str:
        weights = (f"{name}.gamma", f"{name}.beta")
        return self.add("LayerNormalization", states, *weights, axis=-1, epsilon=self.epsilon)
