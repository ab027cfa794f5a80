"""OpenVINO GenAI's pipeline; its threads are the argument.

Runs in an environment of its own, which has openvino_genai but not our package.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import openvino_genai
from speed.serving import serve

from ..engine import GenerationEngine, start_id
from ..nats import nats

# What it computes in where the weights alone have fewer bits is its own choice.
_HINTS = {"float32": "f32", "bfloat16": "bf16"}


class OpenVinoEngine(GenerationEngine):
    """`LLMPipeline` on ids, without a cache of the prompts that it has seen.

    Args:
        threads: Threads of one batch.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads

    def load(self, folder: str, precision: str) -> None:
        """Opens the converted model; the one before is freed first."""
        self._pipeline: Any = None
        self._start = start_id(folder)
        self._directory = Path(folder) / f"openvino-{precision}"
        self._properties: dict[str, Any] = {"INFERENCE_NUM_THREADS": self._threads}
        if precision in _HINTS:
            self._properties["INFERENCE_PRECISION_HINT"] = _HINTS[precision]
        if precision == "float32":
            self._properties["KV_CACHE_PRECISION"] = "f32"
        scheduler = openvino_genai.SchedulerConfig()
        scheduler.enable_prefix_caching = False
        self._pipeline = openvino_genai.LLMPipeline(
            str(self._directory), "CPU", scheduler_config=scheduler, **self._properties
        )

    def prepare(self, prompts: list[list[int]]) -> Any:
        """Returns ids and mask, int64 `(batch, length)`; all prompts are equally long."""
        ids = np.array([[self._start, *row] for row in prompts], np.int64)
        return openvino_genai.TokenizedInputs(ov.Tensor(ids), ov.Tensor(np.ones_like(ids)))

    def run(self, prepared: Any, length: int, search: str) -> Any:
        """Generates greedily, whatever the model would end with."""
        config = openvino_genai.GenerationConfig(
            max_new_tokens=length, min_new_tokens=length, ignore_eos=True, do_sample=False
        )
        return self._pipeline.generate(prepared, config)

    def to_ids(self, result: Any) -> list[list[int]]:
        """Returns the new ids of each row."""
        return [list(map(int, row)) for row in result.tokens]

    def nats(self, rows: list[list[int]]) -> float:
        """As the base class says, by the model itself: the pipeline tells no probabilities."""
        model = ov.Core().compile_model(
            str(self._directory / "openvino_model.xml"), "CPU", self._properties
        )
        request, total = model.create_infer_request(), 0.0
        for row in rows:
            ids = np.array([[self._start, *row[:-1]]], np.int64)
            given = {
                "input_ids": ids,
                "attention_mask": np.ones_like(ids),
                "position_ids": np.arange(ids.shape[1])[None],
                "beam_idx": np.zeros(1, np.int32),
            }
            request.reset_state()
            taken = {name for value in model.inputs for name in value.get_names()}
            found = request.infer({name: given[name] for name in taken & set(given)})
            total += nats(found["logits"][0], row)
        return total


if __name__ == "__main__":
    serve(OpenVinoEngine(int(sys.argv[1])))
