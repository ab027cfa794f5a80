"""What a first attempt at ONNX gives: a straight export, `session.run` on numpy arrays, the cache
copied in and out at every step.
"""

from pathlib import Path
from typing import Any

import numpy as np
from onnxruntime import InferenceSession

from keras_transformer.config import TransformerConfig
from keras_transformer.config.special_ids import SpecialIds

from .. import artefacts
from ..serving import Engine, serve

BOS_ID, EOS_ID, PAD_ID = SpecialIds.bos, SpecialIds.eos, SpecialIds.pad

Arrays = dict[str, np.ndarray]


class NaiveEngine(Engine):
    """Two sessions with onnxruntime's defaults and a search in numpy, for forced lengths only."""

    def load(self, folder: str, precision: str) -> None:
        """Opens the straight export, whatever the precision: it has only one."""
        directory = Path(folder) / artefacts.NAIVE
        self._encoder, self._decoder = (
            InferenceSession(str(directory / name), providers=["CPUExecutionProvider"])
            for name in ("encoder.onnx", "decoder.onnx")
        )
        self._config = TransformerConfig.load(directory / "config.json")

    def prepare(self, rows: list[list[int]]) -> np.ndarray:
        """Returns int32 `(batch, source_length)`; the rows are of one length."""
        return np.array([[*row, EOS_ID] for row in rows], np.int32)

    def run(self, prepared: np.ndarray, beam_size: int, length: int) -> np.ndarray:
        """Returns the best hypothesis of each row: `(batch, length)`."""
        batch, beam = len(prepared), beam_size
        given = {"source_ids": prepared, **_run(self._encoder, {"source_ids": prepared})}
        caches = self._empty_caches(batch * beam, length)
        # Only the first hypothesis of a sentence counts at first: all of them are equal.
        totals = np.full((batch, beam), -np.inf, np.float32)
        totals[:, 0] = 0
        ids = np.full(batch * beam, BOS_ID, np.int32)
        hypotheses = np.zeros((batch * beam, 0), np.int32)
        for step in range(length):
            inputs = {**given, **caches, "target_ids": ids, "step": np.array([step], np.int32)}
            outputs = _run(self._decoder, inputs)
            totals, parents, ids = _best(totals, outputs.pop("logits"))
            caches = {name.removeprefix("new_"): values for name, values in outputs.items()}
            if beam > 1:
                caches = {name: values[parents] for name, values in caches.items()}
            hypotheses = np.concatenate([hypotheses[parents], ids[:, None]], axis=1)
        return hypotheses[::beam]

    def to_ids(self, result: np.ndarray) -> list[list[int]]:
        """Returns the rows as lists."""
        return result.tolist()

    def _empty_caches(self, rows: int, length: int) -> Arrays:
        widths = {"key": self._config.key_dim, "value": self._config.value_dim}
        shape = (rows, self._config.num_heads, length)
        return {
            f"cache_{kind}_{layer}": np.zeros((*shape, width), np.float32)
            for layer in range(self._config.num_decoder_layers)
            for kind, width in widths.items()
        }


def _run(session: InferenceSession, inputs: Arrays) -> Arrays:
    names = [output.name for output in session.get_outputs()]
    wanted = {spec.name for spec in session.get_inputs()}
    given: Any = {name: values for name, values in inputs.items() if name in wanted}
    return dict(zip(names, session.run(names, given), strict=True))


def _best(totals: np.ndarray, logits: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Chooses the best continuations of each sentence's hypotheses.

    Args:
        totals: Their log-probabilities `(batch, beam)`.
        logits: `(batch * beam, vocabulary)`.

    Returns:
        New totals, best first, and for each the row it continues and its token `(batch * beam)`.
    """
    batch, beam = totals.shape
    logits[:, [PAD_ID, BOS_ID, EOS_ID]] = -np.inf
    if beam == 1:
        # Greedy needs no probabilities.
        return totals, np.arange(batch), logits.argmax(axis=1).astype(np.int32)
    logits -= logits.max(axis=1, keepdims=True)
    scores = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    scores = (scores.reshape(batch, beam, -1) + totals[:, :, None]).reshape(batch, -1)
    chosen = np.argpartition(-scores, beam, axis=1)[:, :beam]
    order = np.argsort(-np.take_along_axis(scores, chosen, axis=1), axis=1, kind="stable")
    chosen = np.take_along_axis(chosen, order, axis=1)
    rows = np.arange(batch)[:, None] * beam + chosen // logits.shape[1]
    tokens = (chosen % logits.shape[1]).astype(np.int32)
    return np.take_along_axis(scores, chosen, axis=1), rows.reshape(-1), tokens.reshape(-1)


if __name__ == "__main__":
    serve(NaiveEngine())
