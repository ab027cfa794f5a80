"""Keras as a first attempt uses it: `predict` on the whole target so far, once for every token."""

from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.runs.finished_run import load_run

from .. import artefacts
from ..serving import Engine, serve

BOS_ID, EOS_ID, PAD_ID = SpecialIds.bos, SpecialIds.eos, SpecialIds.pad


class KerasEngine(Engine):
    """`model.predict_on_batch` without a cache; greedy only."""

    def load(self, folder: str, precision: str) -> None:
        """Opens the run's model, whatever the precision: it has only one."""
        self._model, _, _ = load_run(Path(folder) / artefacts.RUN)

    def prepare(self, rows: list[list[int]]) -> np.ndarray:
        """Returns int32 `(batch, source_length)`; the rows are of one length."""
        return np.array([[*row, EOS_ID] for row in rows], np.int32)

    def run(self, prepared: np.ndarray, beam_size: int, length: int) -> np.ndarray:
        """Returns the greedy translations `(batch, length)`."""
        if beam_size != 1:
            raise ValueError(f"beam_size must be 1 for Keras's predict, got {beam_size}.")
        # Padded to the end: a new shape at every token would compile the model anew.
        target_ids = np.full((len(prepared), length + 1), PAD_ID, np.int32)
        target_ids[:, 0] = BOS_ID
        for step in range(length):
            inputs: Any = {"source_ids": prepared, "target_ids": target_ids[:, :-1]}
            logits = self._model.predict_on_batch(inputs)[:, step]
            logits[:, [PAD_ID, BOS_ID, EOS_ID]] = -np.inf
            target_ids[:, step + 1] = logits.argmax(axis=1)
        return target_ids[:, 1:]

    def to_ids(self, result: np.ndarray) -> list[list[int]]:
        """Returns the rows as lists."""
        return result.tolist()


if __name__ == "__main__":
    serve(KerasEngine())
