"""llama.cpp through its C interface, as its own programs use it; its threads are the argument.

Runs in an environment of its own, which has llama_cpp but not our package.
"""

import dataclasses
import sys
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np
from speed.serving import serve

from ..engine import GenerationEngine, start_id
from ..nats import nats

# Of `ggml_type` and `ggml_log_level`.
_FLOAT32, _ERROR = 0, 4


@dataclasses.dataclass
class Prompts:
    """Prompts in a context that has room for what is generated.

    Attributes:
        context: The engine's.
        ids: `(batch, length)`.
        batch: Tokens of all prompts, one row after the other.
    """

    context: Any
    ids: np.ndarray
    batch: Any


@llama_cpp.llama_log_callback
def _tell(level: int, text: bytes, _: Any) -> None:
    """Passes on errors alone: llama.cpp tells of every layer."""
    if level == _ERROR:
        sys.stderr.write(text.decode())


class LlamaCppEngine(GenerationEngine):
    """`llama_decode`: all rows of a step together, and the most probable token of each.

    Args:
        threads: Threads of one batch.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._model: Any = None
        self._opened: Prompts | None = None
        llama_cpp.llama_log_set(_tell, None)
        llama_cpp.llama_backend_init()

    def load(self, folder: str, precision: str) -> None:
        """Opens the GGUF file; the one before is freed first."""
        self._close()
        if self._model is not None:
            llama_cpp.llama_model_free(self._model)
        self._start, self._is_exact = start_id(folder), precision == "float32"
        path = Path(folder) / f"llama.cpp-{precision}" / "model.gguf"
        parameters = llama_cpp.llama_model_default_params()
        self._model = llama_cpp.llama_model_load_from_file(str(path).encode(), parameters)
        if not self._model:
            raise RuntimeError(f"llama.cpp could not open {path}.")
        vocabulary = llama_cpp.llama_model_get_vocab(self._model)
        self._tokens = llama_cpp.llama_vocab_n_tokens(vocabulary)

    def prepare(self, prompts: list[list[int]], room: int = 512) -> Prompts:
        """Returns the prompts with a context, in which `room` new tokens of each fit."""
        self._close()
        ids = np.array([[self._start, *row] for row in prompts], np.int32)
        rows, length = ids.shape
        parameters = llama_cpp.llama_context_default_params()
        parameters.n_ctx = rows * (length + room)
        parameters.n_batch, parameters.n_seq_max = ids.size, rows
        parameters.n_threads = parameters.n_threads_batch = self._threads
        if self._is_exact:
            parameters.type_k = parameters.type_v = _FLOAT32
        context = llama_cpp.llama_init_from_model(self._model, parameters)
        self._opened = Prompts(context, ids, _batch(ids, 0))
        return self._opened

    def run(self, prepared: Prompts, length: int, search: str) -> np.ndarray:
        """Generates greedily, whatever the model would end with."""
        context, (rows, before) = prepared.context, prepared.ids.shape
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(context), True)
        found = np.zeros((rows, length), np.int32)
        batch = prepared.batch
        step = _batch(found[:, :1], before)
        tokens = np.ctypeslib.as_array(step.token, (rows,))
        places = np.ctypeslib.as_array(step.pos, (rows,))
        for place in range(length):
            self._decode(context, batch)
            found[:, place] = self._logits(context, rows).argmax(axis=1)
            batch = step
            tokens[:], places[:] = found[:, place], before + place
        llama_cpp.llama_batch_free(step)
        return found

    def to_ids(self, result: np.ndarray) -> list[list[int]]:
        """Returns the new ids of each row."""
        return result.tolist()

    def nats(self, rows: list[list[int]]) -> float:
        """As the base class says."""
        total = 0.0
        for row in rows:
            prepared = self.prepare([row[:-1]], room=1)
            np.ctypeslib.as_array(prepared.batch.logits, (len(row),))[:] = 1
            self._decode(prepared.context, prepared.batch)
            total += nats(self._logits(prepared.context, len(row)), row)
        return total

    def _decode(self, context: Any, batch: Any) -> None:
        if status := llama_cpp.llama_decode(context, batch):
            raise RuntimeError(f"llama_decode returned {status}.")

    def _logits(self, context: Any, count: int) -> np.ndarray:
        """Returns those of the last call's tokens that asked for them, `(count, vocabulary)`."""
        values = llama_cpp.llama_get_logits(context)
        return np.ctypeslib.as_array(values, (count, self._tokens))

    def _close(self) -> None:
        if self._opened is not None:
            llama_cpp.llama_batch_free(self._opened.batch)
            llama_cpp.llama_free(self._opened.context)
            self._opened = None


def _batch(ids: np.ndarray, before: int) -> Any:
    """Returns the tokens of rows, of which each one's last asks for logits.

    Args:
        ids: `(batch, length)`.
        before: Tokens of each row that were decoded before these.
    """
    rows, length = ids.shape
    batch = llama_cpp.llama_batch_init(ids.size, 0, 1)
    batch.n_tokens = ids.size
    np.ctypeslib.as_array(batch.token, (ids.size,))[:] = ids.ravel()
    np.ctypeslib.as_array(batch.pos, (ids.size,))[:] = np.tile(before + np.arange(length), rows)
    np.ctypeslib.as_array(batch.n_seq_id, (ids.size,))[:] = 1
    logits = np.ctypeslib.as_array(batch.logits, (ids.size,))
    logits[:] = 0
    logits[length - 1 :: length] = 1
    for place in range(ids.size):
        batch.seq_id[place][0] = place // length
    return batch


if __name__ == "__main__":
    serve(LlamaCppEngine(int(sys.argv[1])))
