"""How near a cell comes to what the machine allows: weights read over memory bandwidth,
multiply-adds over matrix rate.
"""

from collections.abc import Iterable
from typing import Any

from .cells import Cell
from .costs import Costs, costs
from .machine import measure_machine
from .shortlists import split

_WEIGHT_BYTES = {"float32": 4, "int8": 1}


class Limits:
    """The machine's limits for some cells; making one measures the machine.

    Args:
        cells: All cells that will be asked for.

    Attributes:
        rates: `measure_machine`'s result.
    """

    def __init__(self, cells: Iterable[Cell]) -> None:
        self.rates = measure_machine(sorted({_bytes(cell) for cell in cells}))

    def fields(self, cell: Cell, tokens_per_second: float) -> dict[str, Any]:
        """Returns the limits in tokens a second and the fractions that are reached.

        `memory_limit` counts a weight's bytes once for each token of the whole batch, and the rate
        at which as many bytes are read over and over (so caches count). `matrix_limit` uses the
        higher of the int8 and float32 rates where the weights are int8. Both count the whole
        vocabulary, of which a shortlist reads a part.
        """
        memory = cell.batch * self.rates["bytes"][str(_bytes(cell))] / _bytes(cell)
        kinds = {"float32", split(cell.precision)[0]}
        products = self.rates["multiply_adds"]
        kind = max(kinds, key=lambda name: products[name])
        matrix = products[kind] / _costs(cell).multiply_adds
        return {
            "memory_limit": memory,
            "memory_fraction": tokens_per_second / memory,
            "matrix_limit": matrix,
            "matrix_fraction": tokens_per_second / matrix,
            "matrix_rate": kind,
        }


def _costs(cell: Cell) -> Costs:
    size = cell.size
    return costs(size.config, size.source_tokens, size.target_tokens, cell.beam_size)


def _bytes(cell: Cell) -> int:
    """Bytes of weights read for one token."""
    return round(_costs(cell).weights * _WEIGHT_BYTES[split(cell.precision)[0]])
