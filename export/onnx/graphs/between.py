"""What stands between the two linear layers of a sub-layer, where it is an operator of ours."""

from dataclasses import dataclass

from keras_transformer.export.onnx.graphs.builder import GraphBuilder
from keras_transformer.export.onnx.graphs.operators import NATIVE


@dataclass(frozen=True)
class Between:
    """One of our operators between the linear layers of a sub-layer.

    Attributes:
        graph: The graph.
        operator: Its name; followed by "SubLayer", the name of the whole sub-layer's operator.
        operands: Its inputs beside the projection.
        outputs: The graph's outputs that it computes beside the sub-layer's.
        heads: Its attribute of that name; None without.
        units: The same of the sub-layer's operator.
    """

    graph: GraphBuilder
    operator: str
    operands: tuple[str, ...]
    outputs: tuple[str, ...] = ()
    heads: int | None = None
    units: int | None = None

    @property
    def flags(self) -> dict[str, int]:
        """Its attributes."""
        return {} if self.heads is None else {"heads": self.heads}

    def __call__(self, projected: str) -> str:
        """Adds the operator."""
        flags = {"count": 1 + len(self.outputs), "domain": NATIVE, **self.flags}
        attended, *others = self.graph.ops(self.operator, projected, *self.operands, **flags)
        self.graph.outputs(self.outputs, others)
        return attended
