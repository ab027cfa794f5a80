"""One of this package's operators between the two linear layers of a sub-layer."""

from dataclasses import dataclass

from keras_transformer.export.onnx.graphs.builder import GraphBuilder
from keras_transformer.export.onnx.graphs.operators import NATIVE


@dataclass(frozen=True)
class Between:
    """One of our operators between the linear layers of a sub-layer.

    Attributes:
        graph: The graph.
        operator: Its name. With "SubLayer" appended, it names the operator for the whole sub-layer.
        operands: Its inputs after the projection.
        outputs: Outputs of the graph that it computes in addition to the sub-layer's output.
        heads: Its attribute `heads`; None if it has none.
        units: The attribute `units` of the sub-layer's operator; None if it has none.
        window: Its attribute `window`; None if it has none.
    """

    graph: GraphBuilder
    operator: str
    operands: tuple[str, ...]
    outputs: tuple[str, ...] = ()
    heads: int | None = None
    units: int | None = None
    window: int | None = None

    @property
    def flags(self) -> dict[str, int]:
        """Its attributes."""
        given = {"heads": self.heads, "window": self.window}
        return {name: value for name, value in given.items() if value is not None}

    def __call__(self, projected: str) -> str:
        """Adds the operator."""
        flags = {"count": 1 + len(self.outputs), "domain": NATIVE, **self.flags}
        attended, *others = self.graph.ops(self.operator, projected, *self.operands, **flags)
        self.graph.outputs(self.outputs, others)
        return attended
