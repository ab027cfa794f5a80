"""onnxruntime-genai's generator; its threads are the argument.

Runs in an environment of its own, which has onnxruntime_genai but not our package.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime_genai
from speed.serving import serve

from ..engine import GenerationEngine, start_id
from ..nats import nats


class OnnxruntimeGenaiEngine(GenerationEngine):
    """`onnxruntime_genai.Generator`.

    Args:
        threads: Threads of one batch.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads

    def load(self, folder: str, precision: str) -> None:
        """Opens the built model; the one before is freed first."""
        self._model: Any = None
        self._start = start_id(folder)
        config = onnxruntime_genai.Config(str(Path(folder) / f"ort-genai-{precision}"))
        threads = {"intra_op_num_threads": self._threads}
        config.overlay(json.dumps({"model": {"decoder": {"session_options": threads}}}))
        self._model = onnxruntime_genai.Model(config)

    def prepare(self, prompts: list[list[int]]) -> np.ndarray:
        """Returns ids, int32 `(batch, length)`; all prompts are equally long."""
        return np.array([[self._start, *row] for row in prompts], np.int32)

    def run(self, prepared: np.ndarray, length: int, search: str) -> np.ndarray:
        """Generates greedily with forced lengths."""
        rows, before = prepared.shape
        generator = self._generator(rows, before + length, before + length)
        generator.append_tokens(prepared)
        while not generator.is_done():
            generator.generate_next_token()
        return np.stack([generator.get_sequence(row)[before:] for row in range(rows)])

    def to_ids(self, result: np.ndarray) -> list[list[int]]:
        """Returns the new ids of each row."""
        return result.tolist()

    def nats(self, rows: list[list[int]]) -> float:
        """As the base class says."""
        total = 0.0
        for row in rows:
            generator = self._generator(1, 0, len(row) + 1)
            generator.append_tokens(np.array([[self._start, *row[:-1]]], np.int32))
            total += nats(generator.get_output("logits")[0], row)
        return total

    def _generator(self, rows: int, least: int, most: int) -> Any:
        parameters = onnxruntime_genai.GeneratorParams(self._model)
        parameters.set_search_options(
            batch_size=rows, min_length=least, max_length=most, do_sample=False
        )
        return onnxruntime_genai.Generator(self._model, parameters)


if __name__ == "__main__":
    serve(OnnxruntimeGenaiEngine(int(sys.argv[1])))
