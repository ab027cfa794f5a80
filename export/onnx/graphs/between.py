"""One of this package's operators between the two linear layers of a sub-layer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from keras_transformer.export.onnx.graphs.builder import GraphBuilder, Operand
from keras_transformer.export.onnx.graphs.operators import NATIVE


@dataclass(frozen=True)
class Between:
    """One of our operators between the linear layers of a sub-layer.

    Attributes:
        graph: The graph.
        operator: Its name. With "SubLayer" appended, it names the operator for the whole sub-layer.
        operands: Its inputs after the projection.
        outputs: Outputs of the graph that it computes in addition to the sub-layer's output.
        units: The attribute `units` of the sub-layer's operator; None if it has none.
        flags: Its attributes.
    """

    graph: GraphBuilder
    operator: str
    operands: tuple[Operand, ...]
    outputs: tuple[str, ...] = ()
    units: int | None = None
    flags: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, projected: str) -> str:
        """Adds the operator."""
        given = {"count": 1 + len(self.outputs), "domain": NATIVE, **self.flags}
        attended, *others = self.graph.ops(self.operator, projected, *self.operands, **given)
        self.graph.outputs(self.outputs, others)
        return attended
