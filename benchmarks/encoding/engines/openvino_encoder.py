"""OpenVINO on a converted encoder; its threads are the argument.

Runs in an environment of its own, which has openvino but not our package.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
from speed.serving import serve

from ..engine import EncoderEngine, Rows, padded

# In 8 bits it computes the rest in what it prefers.
_HINTS = {"float32": "f32", "bfloat16": "bf16"}


class OpenVinoEngine(EncoderEngine):
    """A compiled model with shapes as they come.

    Args:
        threads: Threads of one batch.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads

    def load(self, folder: str, precision: str) -> None:
        """Compiles the converted model; the one before is freed first."""
        self._request: Any = None
        properties: dict[str, Any] = {"INFERENCE_NUM_THREADS": self._threads}
        if precision in _HINTS:
            properties["INFERENCE_PRECISION_HINT"] = _HINTS[precision]
        path = Path(folder) / f"openvino-{precision}" / "openvino_model.xml"
        model = ov.Core().compile_model(str(path), "CPU", properties)
        self._names = [value.get_any_name() for value in model.inputs]
        self._request = model.create_infer_request()

    def prepare(self, rows: Rows) -> dict[str, np.ndarray]:
        """Returns the model's inputs."""
        ids, lengths = padded(rows)
        given = {
            "input_ids": ids.astype(np.int64),
            "attention_mask": (np.arange(ids.shape[1]) < lengths[:, None]).astype(np.int64),
            "token_type_ids": np.zeros(ids.shape, np.int64),
        }
        return {name: given[name] for name in self._names}

    def run(self, prepared: dict[str, np.ndarray]) -> np.ndarray:
        """Returns states `(batch, length, model_dim)`."""
        return self._request.infer(prepared, share_inputs=True)[0]

    def to_states(self, result: np.ndarray) -> np.ndarray:
        """Returns the states."""
        return result


if __name__ == "__main__":
    serve(OpenVinoEngine(int(sys.argv[1])))
