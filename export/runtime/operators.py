"""This package's own onnxruntime operators, for artefacts exported with target="native": where the
library is that `export/native` was compiled into when the package was installed.
"""

from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

_NAME = "_operators"


def operators_library() -> Path:
    """Returns the library's path, for `SessionOptions.register_custom_ops_library`.

    Raises:
        ImportError: It was not compiled.
    """
    for suffix in EXTENSION_SUFFIXES:
        path = Path(__file__).with_name(_NAME + suffix)
        if path.exists():
            return path
    raise ImportError(
        'target="native" needs operators that are compiled when keras-transformer is installed, '
        "and they are not here: install it from source with GCC 12 or newer, "
        'or export with target="onnxruntime".'
    )
