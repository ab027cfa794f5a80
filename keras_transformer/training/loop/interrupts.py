"""Ctrl-C and SIGTERM during `fit`: both end it between two updates, so that no update is lost.

Library code may swallow a `KeyboardInterrupt`, which is then raised again: most functions are
traced at the end of the first round, and Keras's `ops.shape` does part of that in a bare `except`;
TensorFlow frees graphs in finalizers, and Python ignores what a finalizer raises.
"""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

import keras


class Terminated(KeyboardInterrupt):
    """SIGTERM ended training."""


class Interrupts(keras.callbacks.Callback):
    """Ends `fit` before the next update after SIGINT (Ctrl-C) or SIGTERM.

    SIGINT ends validation and tracing at once, an update after it is made; a second one ends
    everything at once. SIGTERM lets a validation end, so that its round is recorded.

    Use it as a context manager around `fit`. It does nothing outside of the main thread, the only
    one that is interrupted, and leaves a signal alone that is ignored or has a handler that raises
    nothing.

    Raises:
        KeyboardInterrupt: SIGINT came; it replaces any error raised after it.
        Terminated: SIGTERM came.
    """

    def __init__(self) -> None:
        super().__init__()
        self._handlers: dict[int, Any] = {}
        self._updates = 0
        self._is_in_update = False
        self._is_interrupted = False
        self._is_terminated = False

    @property
    def is_between_updates(self) -> bool:
        """Whether all weights have seen the same updates."""
        return not self._is_in_update

    def __enter__(self) -> "Interrupts":
        if threading.current_thread() is threading.main_thread():
            if callable(signal.getsignal(signal.SIGINT)):
                self._handlers[signal.SIGINT] = signal.signal(signal.SIGINT, self._interrupt)
            if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
                self._handlers[signal.SIGTERM] = signal.signal(signal.SIGTERM, self._terminate)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        # An error after a swallowed interrupt is mostly its effect: a shape was not finished.
        if not isinstance(error, KeyboardInterrupt):
            try:
                self._raise_again()
            except KeyboardInterrupt as interrupt:
                raise interrupt from error

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Ends training before the next update."""
        self._raise_again()
        self._is_in_update = True

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Ends training after an update that Ctrl-C waited for."""
        self._is_in_update = False
        self._updates += 1
        self._raise_again(only_interrupts=True)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Raises a swallowed interrupt before the round, which it may have spoilt, is recorded."""
        self._raise_again(only_interrupts=True)

    def _raise_again(self, *, only_interrupts: bool = False) -> None:
        if self._is_interrupted:
            raise KeyboardInterrupt
        if self._is_terminated and not only_interrupts:
            raise Terminated

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        # The first update is traced, which takes longer than a user waits.
        may_wait = self._is_in_update and self._updates and not self._is_interrupted
        try:
            self._handlers[signal.SIGINT](number, frame)
        except KeyboardInterrupt:
            self._is_interrupted = True
            if not may_wait:
                raise

    def _terminate(self, number: int, frame: FrameType | None) -> None:
        if self._is_terminated:
            raise Terminated
        self._is_terminated = True
