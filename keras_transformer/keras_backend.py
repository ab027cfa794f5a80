"""Which backend Keras runs on: most of the package needs TensorFlow, and says so before any work.

Looks without importing Keras, whose import fails if its backend is not installed.
"""

import json
import os
import sys
from importlib import import_module
from pathlib import Path

NEEDED = "tensorflow"


def require_tensorflow_backend(what: str) -> None:
    """Checks that Keras runs on TensorFlow, or will once it is imported.

    Args:
        what: What needs it, for the message.

    Raises:
        ValueError: Another backend is chosen.
    """
    found = _backend()
    if found != NEEDED:
        raise ValueError(
            f"{what} needs Keras on TensorFlow, got the backend {found!r}: set "
            f"KERAS_BACKEND={NEEDED} before Keras is imported."
        )


def _backend() -> str:
    if sys.modules.get("keras") is not None:
        return str(import_module("keras").backend.backend())
    return os.environ.get("KERAS_BACKEND") or _configured()


def _configured() -> str:
    """Returns the backend that Keras's own file names; Keras creates the file."""
    home = Path(os.environ.get("KERAS_HOME") or Path("~/.keras").expanduser())
    try:
        return str(json.loads((home / "keras.json").read_text("utf-8")).get("backend", NEEDED))
    except (OSError, ValueError, AttributeError):  # missing, unreadable or no object: Keras decides
        return NEEDED
