"""Ctrl-C during `fit`: raises a `KeyboardInterrupt` again if library code has swallowed it.

Most functions are traced at the end of the first round. Keras's `ops.shape` does part of that in a
bare `except`; TensorFlow frees graphs in finalizers, and Python ignores what a finalizer raises.
"""

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

import keras


class Interrupts(keras.callbacks.Callback):
    """Remembers `KeyboardInterrupt` and raises it again before the next update or round's record.

    Use it as a context manager around `fit`. It does nothing outside of the main thread, the only
    one that is interrupted, or if SIGINT is ignored or its handler raises nothing.

    Raises:
        KeyboardInterrupt: One was swallowed; it replaces any error raised after it.
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
        # An error after a swallowed interrupt is mostly its effect: a shape was not finished.
        if self._is_interrupted and not isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt from error

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Raises a swallowed interrupt before the next update."""
        self._raise_again()

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Raises a swallowed interrupt before the round, which it may have spoilt, is recorded."""
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
