"""Imports the training code, which needs TensorFlow, only when a command uses it.

If TensorFlow is missing, the error names the extra to install.
"""

import os
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from keras_transformer.cores import available_cores, quota_cores
from keras_transformer.distribution import install_command
from keras_transformer.keras_backend import require_tensorflow_backend
from keras_transformer.messages import without_start_messages


@dataclass(frozen=True, kw_only=True)
class ThreadOptions:
    """The threads that a command may use.

    Args:
        threads: Threads that compute; one for each core that the process may use if not given.
    """

    threads: int | None = None

    def __post_init__(self) -> None:
        if self.threads is not None and self.threads < 1:
            raise ValueError(f"threads must be at least 1, got {self.threads}.")


def load_training() -> ModuleType:
    """Imports `keras_transformer.training.run.train`, TensorFlow included.

    Raises:
        ImportError: A package of the extra [train] is not installed.
        ValueError: Keras runs on another backend than TensorFlow.
    """
    require_tensorflow_backend("this command")
    limit_threads()
    try:
        with without_start_messages():
            return import_module("keras_transformer.training.run.train")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("keras_transformer"):
            raise
        raise _missing(error.name) from error


def require_training() -> None:
    """Looks for the packages of the extra [train], without loading them.

    Raises:
        ImportError: One is not installed.
        ValueError: Keras runs on another backend than TensorFlow.
    """
    require_tensorflow_backend("this command")
    for name in ("tensorflow", "keras"):
        if find_spec(name) is None:
            raise _missing(name)


def limit_threads(threads: int | None = None) -> None:
    """Limits TensorFlow's threads to this number, or to the CPU quota of the process if there is
    one.

    It reads these variables when it first computes, and knows affinities alone by itself.
    """
    for pool in ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"):
        if threads is not None:
            os.environ[pool] = str(threads)
        elif quota_cores() is not None:
            os.environ.setdefault(pool, str(available_cores()))


def _missing(name: str | None) -> ImportError:
    return ImportError(
        f"running a model that is not exported needs {name}: install it with "
        f"`{install_command('train')}`."
    )
