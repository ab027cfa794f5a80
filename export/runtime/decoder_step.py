"""One decoder step on onnxruntime as the search wants it: last tokens and parents come in,
log-probabilities leave; the cache and the encoder's keys and values are kept in between.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from ..manifest import Graph
from .cache import KeyValueCache
from .sessions import Session
from .top_k import log_softmax

Ids = npt.NDArray[np.int32]
Rows = npt.NDArray[np.int64]


class DecoderStep:
    """A batch of sentences being decoded; follows `StepFunction`.

    Args:
        encoder: Session of the encoder graph.
        decoder: Session of the decoder graph.
        graph: The decoder's manifest entry.
        source_ids: int32 `(batch, source_length)`, each row ended by eos and padded on the right.
    """

    def __init__(self, encoder: Session, decoder: Session, graph: Graph, source_ids: Ids) -> None:
        self._decoder = decoder
        self._graph = graph
        self._cache_inputs = [spec for spec in graph.inputs if spec.name.startswith("cache_")]
        names = [output.name for output in encoder.get_outputs()]
        states = encoder.run(names, {"source_ids": source_ids})
        # What belongs to a sentence rather than to a hypothesis: `(batch, ...)`.
        self._per_sentence = dict(zip(names, states, strict=True))
        self._per_sentence["source_ids"] = source_ids
        self._row_sentences = np.arange(len(source_ids))
        self._cache = KeyValueCache(self._cache_inputs, len(source_ids))
        self._vocabulary = int(graph.outputs[0].shape[1])
        self._step = 0

    def __call__(self, ids: Ids, parents: Rows | None) -> npt.NDArray[np.float32]:
        """Runs the graph on the last token of every row; see `StepFunction`."""
        if parents is not None:
            self._follow(parents)
        self._cache.prepare(self._step, parents)
        logits = self._run(ids)
        self._cache.swap()
        self._step += 1
        return log_softmax(logits)

    def _follow(self, parents: Rows) -> None:
        """Drops the sentences that no row continues."""
        sentences, self._row_sentences = np.unique(
            self._row_sentences[parents], return_inverse=True
        )
        if len(sentences) < len(self._per_sentence["source_ids"]):
            self._per_sentence = {
                name: values[sentences] for name, values in self._per_sentence.items()
            }

    def _run(self, ids: Ids) -> npt.NDArray[np.float32]:
        logits = np.empty((len(ids), self._vocabulary), np.float32)
        inputs: dict[str, npt.NDArray[Any]] = {
            "target_ids": np.ascontiguousarray(ids),
            "step": np.asarray(self._step, np.int32),
            **self._per_sentence,
        }
        outputs = {"logits": logits}
        for spec, read, write in zip(
            self._cache_inputs, self._cache.read, self._cache.write, strict=True
        ):
            inputs[spec.name], outputs[f"new_{spec.name}"] = read, write
        # Bound memory spares a copy of every cache buffer at every step.
        binding = self._decoder.io_binding()
        for name, value in inputs.items():
            binding.bind_input(name, "cpu", 0, value.dtype.type, value.shape, value.ctypes.data)
        for name, value in outputs.items():
            binding.bind_output(name, "cpu", 0, value.dtype.type, value.shape, value.ctypes.data)
        self._decoder.run_with_iobinding(binding)
        return logits
