"""onnxruntime on what its own transformers optimizer makes of BERT; threads are the argument."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from onnxruntime import InferenceSession, SessionOptions
from speed.serving import serve

from ..artefacts import optimized
from ..engine import EncoderEngine, Rows, padded


class OptimizerEngine(EncoderEngine):
    """`InferenceSession.run` on arrays.

    Args:
        threads: Threads of one batch.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads

    def load(self, folder: str, precision: str) -> None:
        """Opens the optimized model; the one before is freed first."""
        self._session: Any = None
        options = SessionOptions()
        options.intra_op_num_threads = self._threads
        path = Path(folder) / optimized(precision) / "model.onnx"
        self._session = InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def prepare(self, rows: Rows) -> dict[str, np.ndarray]:
        """Returns the graph's inputs."""
        ids, lengths = padded(rows)
        mask = np.arange(ids.shape[1]) < lengths[:, None]
        return {
            "input_ids": ids,
            "attention_mask": mask.astype(np.int32),
            "token_type_ids": np.zeros_like(ids),
        }

    def run(self, prepared: dict[str, np.ndarray]) -> np.ndarray:
        """Returns states `(batch, length, model_dim)`."""
        return self._session.run(None, prepared)[0]

    def to_states(self, result: np.ndarray) -> np.ndarray:
        """Returns the states."""
        return result


if __name__ == "__main__":
    serve(OptimizerEngine(int(sys.argv[1])))
