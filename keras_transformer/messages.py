"""What goes to standard error beside errors: TensorFlow's messages at its start stay away, and
`--debug` shows what is otherwise summed up.
"""

import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

DEBUG_VARIABLE = "KERAS_TRANSFORMER_DEBUG"
_LEVEL = "TF_CPP_MIN_LOG_LEVEL"
_NOTHING_BUT_FATAL = "3"
# TensorFlow's information, warnings and errors at its start, which are about absent GPUs.
_MESSAGE = re.compile(
    rb"[IWE]\d{4} \d\d:"
    rb"|\d{4}-\d\d-\d\d \d\d:\d\d:[\d.]+: [IWE] "
    rb"|WARNING: All log messages before absl::InitializeLog\(\)"
    rb"|To enable the following instructions: .* rebuild TensorFlow"
)
_lock = threading.Lock()


def is_debugging() -> bool:
    """Returns whether everything is to be shown: with `--debug`, or KERAS_TRANSFORMER_DEBUG=1."""
    return os.environ.get(DEBUG_VARIABLE, "") not in ("", "0")


@contextmanager
def without_start_messages() -> Iterator[None]:
    """Drops TensorFlow's messages while it loads, unless that fails, and has it write none later.

    They go past Python, straight to file descriptor 2, and before any log level applies. What else
    is written there meanwhile is shown at the end. If TF_CPP_MIN_LOG_LEVEL is set to another level
    than 3, or TensorFlow is loaded already, nothing is dropped.
    """
    is_loaded = "tensorflow" in sys.modules
    if is_loaded or os.environ.setdefault(_LEVEL, _NOTHING_BUT_FATAL) != _NOTHING_BUT_FATAL:
        yield
        return
    # Another thread that loads meanwhile keeps the messages away already.
    if not _lock.acquire(blocking=False):
        yield
        return
    try:
        with _held_back():
            yield
    finally:
        _lock.release()


@contextmanager
def _held_back() -> Iterator[None]:
    """Writes what goes to file descriptor 2 later: all after an error, else all but messages."""
    # Not where TensorFlow is not loaded: a translation on onnxruntime starts sooner without.
    import tempfile

    try:
        kept = os.dup(2)
    except OSError:  # closed
        yield
        return
    if sys.stderr is not None:
        sys.stderr.flush()
    with tempfile.TemporaryFile() as written:
        os.dup2(written.fileno(), 2)
        is_message = _MESSAGE.match
        try:
            yield
        except BaseException:
            is_message = re.compile(rb"(?!)").match
            raise
        finally:
            if sys.stderr is not None:
                sys.stderr.flush()
            os.dup2(kept, 2)
            os.close(kept)
            written.seek(0)
            os.write(2, b"".join(line for line in written if not is_message(line)))
