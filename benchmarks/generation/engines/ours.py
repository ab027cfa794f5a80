"""Our runtime as its users run it: `OnnxGenerator` with its defaults but for threads."""

import sys
from pathlib import Path
from typing import Any

from speed import artefacts
from speed.serving import serve

from keras_transformer.runtime.generator import OnnxGenerator

from ..engine import BEAM, BEAMS, GREEDY, SAMPLED, TOP_K, GenerationEngine

_OPTIONS: dict[str, dict[str, Any]] = {
    GREEDY: {},
    SAMPLED: {"sample": True, "top_k": TOP_K},
    BEAM: {"beam_size": BEAMS},
}


class OurEngine(GenerationEngine):
    """`OnnxGenerator`.

    Args:
        target: Of the artefacts that are measured.
        threads: Threads of the graphs.
    """

    def __init__(self, target: str, threads: int) -> None:
        self._target, self._threads = target, threads

    def load(self, folder: str, precision: str) -> None:
        """Opens our artefact; the one before is freed first."""
        self._generator: Any = None
        self._artefact = Path(folder) / artefacts.ours(precision, self._target)
        self._generator = OnnxGenerator(self._artefact, threads=self._threads, max_text_length=None)

    def prepare(self, prompts: list[list[int]]) -> list[list[int]]:
        """Returns the prompts: ids are what it takes."""
        return prompts

    def run(self, prepared: list[list[int]], length: int, search: str) -> Any:
        """Generates with forced lengths."""
        lengths = {"min_length": length, "max_length": length}
        return self._generator.generate_ids(
            prepared, return_scores=False, **lengths, **_OPTIONS[search]
        )

    def to_ids(self, result: Any) -> list[list[int]]:
        """Returns the new ids of each row."""
        return [list(map(int, hypotheses[0].ids)) for hypotheses in result]

    def nats(self, rows: list[list[int]]) -> float:
        """As the base class says."""
        values = self._generator.engine.log_probabilities(rows)
        # The last value is that of the end, which peers are not asked for.
        return -sum(float(row[:-1].sum()) for row in values)


if __name__ == "__main__":
    serve(OurEngine(sys.argv[1], int(sys.argv[2])))
