"""A file with the loss of every update, one line per update. It is complete after a kill, and is
cut back to the checkpoint from which a run resumes.
"""

import re
from pathlib import Path
from typing import Any, BinaryIO

import keras

from keras_transformer.training.loss.metrics import BATCH_LOSS
from keras_transformer.whole_files import clear_disk_errors, write_text

_HEADER = "update\tloss\n"
_WHOLE_LINE = re.compile(r"^(\d+)\t(\S+)\n", re.MULTILINE)
# The length of a line, for the message if the disk is full.
_LINE_BYTES = 24


class LossRecord(keras.callbacks.Callback):
    """Appends the loss of every update to a file, and keeps it out of the other logs.

    Args:
        path: The file: a header, then number of the update, tab, loss.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.step = 0
        self._file: BinaryIO | None = None

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Drops the lines of updates that will be repeated."""
        self.step = int(self.model.optimizer.iterations)
        kept = {step: loss for step, loss in read_losses(self.path).items() if step <= self.step}
        write_text(self.path, _HEADER + "".join(map(_line, kept, kept.values())))
        # Unbuffered, so that lines survive a kill and closing has nothing to write.
        self._file = self.path.open("ab", buffering=0)

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Writes a line."""
        self.step += 1
        loss = (logs or {}).pop(BATCH_LOSS)
        if self._file is not None:
            with clear_disk_errors(self.path, _LINE_BYTES):
                self._file.write(_line(self.step, loss).encode())

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Removes the last batch's losses from the round's metrics, where they mean nothing."""
        for name in (BATCH_LOSS, f"val_{BATCH_LOSS}"):
            (logs or {}).pop(name, None)

    def close(self) -> None:
        """Closes the file; call this no matter how training ended."""
        if self._file is not None:
            self._file.close()
            self._file = None


def read_losses(path: Path) -> dict[int, float]:
    """Returns the losses by update, without a line that a kill cut short.

    Args:
        path: A file of `LossRecord`; it need not exist.
    """
    if not path.exists():
        return {}
    lines = _WHOLE_LINE.findall(path.read_text(encoding="utf-8"))
    return {int(step): float(loss) for step, loss in lines}


def _line(step: int, loss: float) -> str:
    # Nine digits distinguish all float32 values.
    return f"{step}\t{loss:.9g}\n"
