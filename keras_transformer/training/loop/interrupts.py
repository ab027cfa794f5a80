"""Ctrl-C while a model is fitted: where library code drops it, it is raised again.

Functions are traced mostly at the end of the first round. Keras's `ops.shape` does part of that in
a bare `except`; TensorFlow frees graphs in finalizers, and Python drops what a finalizer raises.
"""

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

import keras


class Interrupts(keras.callbacks.Callback):
    """Remembers `KeyboardInterrupt` and raises it again before the next update or round's record.

    To be entered around `fit`. Outside of the main thread, which alone is interrupted, and where
    SIGINT is ignored or its handler raises nothing, it does nothing.

    Raises:
        KeyboardInterrupt: One was dropped; also in place of an error that came after it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._handler: Callable[[int, FrameType | None], Any] | None = None
        self._is_interrupted = False

    def __enter__(self) -> "Interrupts":
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler) and threading.current_thread() is threading.main_thread():
            self._handler = handler
            signal.signal(signal.SIGINT, self._remember)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)
        # What fails after a dropped interrupt mostly fails of it: a shape was not finished.
        if self._is_interrupted and not isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt from error

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Raises a dropped interrupt before the next update."""
        self._raise_again()

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Raises a dropped interrupt before the round, which it may have spoilt, is kept."""
        self._raise_again()

    def _raise_again(self) -> None:
        if self._is_interrupted:
            raise KeyboardInterrupt

    def _remember(self, number: int, frame: FrameType | None) -> None:
        if self._handler is None:
            return
        try:
            self._handler(number, frame)
        except KeyboardInterrupt:
            self._is_interrupted = True
            raise
