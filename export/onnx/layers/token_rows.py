"""The tokens of a batch as rows, one after the other, so that an encoder computes nothing for
padding.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from keras_transformer.export.onnx.graphs.builder import GraphBuilder, integers

_END = np.iinfo(np.int64).max


@dataclass(frozen=True)
class TokenRows:
    """Where the tokens of a batch stand.

    Attributes:
        graph: The graph.
        mask: int32 `(batch, length)`, 1 for tokens.
        places: int64 `(tokens,)`, the place of each row among `batch * length`.
        numbers: int64 `(batch, length)`, the row of each place; padding has that of a token.
    """

    graph: GraphBuilder
    mask: str
    places: str
    numbers: str

    @classmethod
    def of(cls, graph: GraphBuilder, mask: str, *, keeps_first: bool = True) -> "TokenRows":
        """Finds the tokens that a mask marks.

        With `keeps_first` the first place always has a row, so that there is at least one.
        """
        kept = graph.reshape(mask, -1)
        if keeps_first:
            later = graph.op("Slice", kept, integers(1), integers(_END))
            kept = graph.op("Concat", np.ones(1, np.int32), later, axis=0)
        places = graph.reshape(graph.op("NonZero", kept), -1)
        counted = graph.op("CumSum", graph.cast(kept, "int64"), np.int64(0))
        numbers = graph.op("Sub", counted, np.int64(1))
        numbers = graph.op("Reshape", numbers, graph.extended_shape(mask))
        return cls(graph, mask, places, numbers)

    def take(self, values: str) -> str:
        """Returns the tokens' values of `(batch * length, …)`."""
        return self.graph.op("Gather", values, self.places, axis=0)

    def spread(self, rows: str) -> str:
        """Returns `(batch * length, …)`; the values at padding are copies of some token's."""
        flat = self.graph.shared("numbers", lambda: self.graph.reshape(self.numbers, -1))
        return self.graph.op("Gather", rows, flat, axis=0)

    def among_all(self, attend: Callable[[str], str]) -> Callable[[str], str]:
        """Adapts a function of `(batch * length, …)` to rows of tokens."""
        return lambda rows: self.take(attend(self.spread(rows)))

    def thirds(self, rows: str, width: int) -> list[str]:
        """Returns the three parts of rows `(tokens, 3 * width)` as `(batch, length, width)` each.

        The values at padding are copies of some token's.
        """

        def make() -> list[str]:
            first = self.graph.op("Mul", self.numbers, np.int64(3))
            return [first, *(self.graph.op("Add", first, np.int64(part)) for part in (1, 2))]

        parts = self.graph.reshape(rows, -1, width)
        places = self.graph.shared("thirds", make)
        return [self.graph.op("Gather", parts, place, axis=0) for place in places]

    def numbers_at(self, places: str) -> str:
        """Returns the rows of places `(batch, count)` in each text: int64 `(batch * count,)`."""
        numbers = self.graph.op("GatherElements", self.numbers, places, axis=1)
        return self.graph.reshape(numbers, -1)

    def padded(self, rows: str, width: int) -> str:
        """Returns rows `(tokens, width)` as `(batch, length, width)`, zeros at padding."""
        size = self.graph.op("Size", self.mask)
        shape = self.graph.op("Concat", self.graph.reshape(size, 1), integers(width), axis=0)
        places: Any = self.graph.op("Unsqueeze", self.places, integers(1))
        zeros = self.graph.op("ConstantOfShape", shape)
        flat = self.graph.op("ScatterND", zeros, places, rows)
        return self.graph.op("Reshape", flat, self.graph.extended_shape(self.mask, width))
