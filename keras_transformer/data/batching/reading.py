"""The interface of batch readers, and `reader_of`, where each kind of pairs registers its
reader.
"""

import abc
from dataclasses import dataclass
from functools import singledispatch

import numpy as np
import numpy.typing as npt
import tensorflow as tf

ONE_WORKER = (0, 1)


@dataclass(frozen=True)
class Place:
    """A place in the endless stream of a training run's batches.

    Attributes:
        batch_tokens: As in `training_batches`, as are the others.
        seed: Decides all shuffling.
        step: Number of batches before this place.
        worker: (index, count) of the worker that reads.

    Raises:
        ValueError: `step` is negative, or `worker` names no worker.
    """

    batch_tokens: int
    seed: int
    step: int = 0
    worker: tuple[int, int] = ONE_WORKER

    def __post_init__(self) -> None:
        index, count = self.worker
        if not 0 <= index < count:
            raise ValueError(
                f"worker must be (index, count) with 0 <= index < count, got {self.worker}"
            )
        if self.step < 0:
            raise ValueError(f"start_step must be at least 0, got {self.step}")


class BatchReader(abc.ABC):
    """Reads batches; the functions of `batches.py` describe what the methods return."""

    @abc.abstractmethod
    def per_epoch(self, batch_tokens: int, workers: int) -> int:
        """As `batches_per_epoch`."""

    @abc.abstractmethod
    def training(self, place: Place) -> tf.data.Dataset:
        """As `training_batches`."""

    @abc.abstractmethod
    def evaluation(self, batch_tokens: int) -> tf.data.Dataset:
        """As `evaluation_batches`."""

    def check_files(self, worker: tuple[int, int]) -> object:
        """Reads all files that a worker's batches come from; pairs in memory have none.

        Raises:
            FileNotFoundError: One is missing.
            ValueError: One is not as it was written; the message names it.
        """
        return None

    @abc.abstractmethod
    def lines(self, place: Place) -> npt.NDArray[np.int64]:
        """As `batch_pairs`."""


@singledispatch
def reader_of(pairs: object) -> BatchReader:
    """Returns the reader of pairs.

    Raises:
        TypeError: No reader is registered for their class.
    """
    raise TypeError(
        f"pairs must be EncodedPairs or ShardedPairs, got {type(pairs).__name__}; encode_pairs "
        "makes them from sentences"
    )
