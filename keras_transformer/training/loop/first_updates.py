"""Measures the first updates of a run: says how long it will take, and the memory that it needs."""

import resource
import time
from typing import Any

import keras

# The first is traced, and the next ones may allocate.
_UNMEASURED = 2
_MEASURED = 8


class FirstUpdates(keras.callbacks.Callback):
    """Prints minutes and memory after the first updates.

    Args:
        total: Updates of the run.
        is_all: Whether `fit` ends then.
    """

    def __init__(self, total: int, *, is_all: bool = False) -> None:
        super().__init__()
        self._total, self._is_all = total, is_all
        self._made, self._begun = 0, 0.0

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Counts an update, and prints after the last one that is measured."""
        self._made += 1
        left = self._total - int(self.model.optimizer.iterations)
        if self._made == _UNMEASURED:
            self._begun = time.perf_counter()
        is_last = self._made == _UNMEASURED + _MEASURED
        measured = self._made - _UNMEASURED
        if measured > 0 and (is_last or (not left and measured < _MEASURED)):
            seconds = (time.perf_counter() - self._begun) / measured
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            # Below a progress bar, whose line is not ended yet.
            begin = "\n" if (self.params or {}).get("verbose") == 1 else ""
            print(
                f"{begin}plan: {seconds:.2g} seconds an update, {_duration(seconds * left)} for "
                f"the rest without validation; {peak / 1e9:.1f} GB of memory so far",
                flush=True,
            )
        if self._is_all and (is_last or not left):
            self.model.stop_training = True


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"
