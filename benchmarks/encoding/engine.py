"""The child's side of a measuring process for encoders: what `encode.py` asks of an engine.

Standard library and numpy only: an engine may run in another environment's interpreter.
"""

import abc
from typing import Any

import numpy as np
from speed.serving import timed

Rows = list[list[int]]

PAD_ID = 0


class EncoderEngine(abc.ABC):
    """Something that turns rows of ids into states; subclasses wrap one library each."""

    @abc.abstractmethod
    def load(self, folder: str, precision: str) -> None:
        """Opens a model in place of the one before.

        Args:
            folder: From `artefacts.make`.
            precision: One of `driver.PRECISIONS`.
        """

    @abc.abstractmethod
    def prepare(self, rows: Rows) -> Any:
        """Turns rows of any lengths into what `run` takes; not timed."""

    @abc.abstractmethod
    def run(self, prepared: Any) -> Any:
        """Computes the states of one batch; timed."""

    @abc.abstractmethod
    def to_states(self, result: Any) -> Any:
        """Returns for each row of `run`'s result states whose first are the row's; not timed."""

    def save_states(self, rows: Rows, path: str) -> None:
        """Writes the states of all rows' tokens, one row after the other: `(tokens, model_dim)`."""
        states = self.to_states(self.run(self.prepare(rows)))
        parts = [np.asarray(part)[: len(row)] for part, row in zip(states, rows, strict=True)]
        np.save(path, np.concatenate(parts))

    def measure(self, batches: list[Rows], times: int) -> dict[str, float]:
        """Returns the mean "seconds" and "cpu_seconds" of all batches among `times` in a row.

        CPU seconds are those of all the process's threads.
        """
        prepared = [self.prepare(rows) for rows in batches]

        def run_all() -> None:
            for batch in prepared:
                self.run(batch)

        return timed(run_all, times)


def padded(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Returns ids and lengths, int32 `(batch, longest)` and `(batch,)`."""
    lengths = np.array([len(row) for row in rows], np.int32)
    ids = np.full((len(rows), lengths.max()), PAD_ID, np.int32)
    for row, values in zip(ids, rows, strict=True):
        row[: len(values)] = values
    return ids, lengths
