"""Our runtime as its users run it: `OnnxEncoder` with its defaults but for threads."""

import sys
from pathlib import Path
from typing import Any

from speed import artefacts
from speed.serving import serve

from keras_transformer.runtime.encoder import OnnxEncoder

from ..engine import EncoderEngine, Rows


class OurEngine(EncoderEngine):
    """`OnnxEncoder`.

    Args:
        target: Of the artefacts that are measured.
        threads: Threads of the graphs.
    """

    def __init__(self, target: str, threads: int) -> None:
        self._target, self._threads = target, threads

    def load(self, folder: str, precision: str) -> None:
        """Opens our artefact; the one before is freed first."""
        self._encoder: Any = None
        self._encoder = OnnxEncoder(
            Path(folder) / artefacts.ours(precision, self._target),
            threads=self._threads,
            max_text_length=None,
        )

    def prepare(self, rows: Rows) -> Rows:
        """Returns the rows without bos and eos, which it adds itself."""
        return [row[1:-1] for row in rows]

    def run(self, prepared: Rows) -> Any:
        """Returns states `(length, model_dim)` of each row."""
        return self._encoder.states_of_ids(prepared)

    def to_states(self, result: Any) -> Any:
        """Returns the states."""
        return result


if __name__ == "__main__":
    serve(OurEngine(sys.argv[1], int(sys.argv[2])))
