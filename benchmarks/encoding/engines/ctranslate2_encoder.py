"""CTranslate2's encoder; its threads are the argument."""

import sys
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
from speed import artefacts
from speed.serving import serve

from ..engine import EncoderEngine, Rows, padded


class CTranslate2Engine(EncoderEngine):
    """`ctranslate2.Encoder` on arrays.

    Args:
        threads: Threads of one batch.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads

    def load(self, folder: str, precision: str) -> None:
        """Opens the CTranslate2 model; the one before is freed first."""
        self._encoder: Any = None
        self._encoder = ctranslate2.Encoder(
            str(Path(folder) / artefacts.peers(precision)),
            compute_type=precision,
            intra_threads=self._threads,
        )

    def prepare(self, rows: Rows) -> list[Any]:
        """Returns ids and lengths where CTranslate2 reads them without a copy."""
        return [ctranslate2.StorageView.from_array(array) for array in padded(rows)]

    def run(self, prepared: list[Any]) -> np.ndarray:
        """Returns states `(batch, length, model_dim)`."""
        return np.asarray(self._encoder.forward_batch(*prepared).last_hidden_state)

    def to_states(self, result: np.ndarray) -> np.ndarray:
        """Returns the states."""
        return result


if __name__ == "__main__":
    serve(CTranslate2Engine(int(sys.argv[1])))
