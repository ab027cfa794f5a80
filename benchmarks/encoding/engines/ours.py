"""Our runtime as its users run it: `OnnxEncoder` with its defaults."""

import sys
from pathlib import Path
from typing import Any

from speed import artefacts
from speed.serving import serve

from keras_transformer.runtime.encoder import OnnxEncoder

from ..engine import EncoderEngine, Rows


class OurEngine(EncoderEngine):
    """`OnnxEncoder`; threads as it chooses them.

    Args:
        target: Of the artefacts that are measured.
    """

    def __init__(self, target: str) -> None:
        self._target = target

    def load(self, folder: str, precision: str) -> None:
        """Opens our artefact; the one before is freed first."""
        self._encoder: Any = None
        self._encoder = OnnxEncoder(
            Path(folder) / artefacts.ours(precision, self._target), max_text_length=None
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
    serve(OurEngine(sys.argv[1]))
