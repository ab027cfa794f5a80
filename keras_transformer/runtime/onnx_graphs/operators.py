"""This package's own onnxruntime operators (`native/`) for artefacts with target="native": their
library is found, registered, and checked for its version and for whether it is fast on this
processor.
"""

import ctypes
import functools
import logging
from pathlib import Path
from typing import Any

from onnxruntime import SessionOptions

_NAME = "_operators.so"
# Artefacts that record no version or no revision were written for the first one.
_FIRST = 1
# The instructions of a library without fast kernels for the processor.
PORTABLE = "portable"
_log = logging.getLogger(__name__)


def operators_library() -> Path:
    """Returns the library's path, for `SessionOptions.register_custom_ops_library`.

    Raises:
        ImportError: It was not compiled.
    """
    path = Path(__file__).with_name(_NAME)
    if path.exists():
        return path
    raise ImportError(
        'target="native" needs operators that are compiled when the package is installed, '
        "and they are not here: install it from source with GCC 12 or clang 14, or newer ones, "
        'or export with target="onnxruntime".'
    )


def operators_version() -> int:
    """Returns the version of the operators that are compiled here.

    Raises:
        ImportError: They are not compiled, or cannot be loaded.
    """
    return int(_load(operators_library()).keras_transformer_operators_version())


def operators_revision() -> int:
    """Returns the revision of the operators that are compiled here.

    They read all graphs of their version that were written for this revision or an earlier one.

    Raises:
        ImportError: The operators are not compiled, or cannot be loaded.
    """
    return int(_load(operators_library()).keras_transformer_operators_revision())


def instructions() -> str:
    """Returns the set of instructions that the operators use here.

    On x86-64 it is "amx", "bf16", "vnni", "avxvnni" or "avx2", on arm64 "i8mm" or "dotprod", and
    "portable" on any other processor.

    Raises:
        ImportError: The operators are not compiled, or cannot be loaded.
        ValueError: KERAS_TRANSFORMER_MAX_ISA names none of them.
    """
    library = _load(operators_library())
    refusal = _text(library.keras_transformer_refusal)
    if refusal is not None:
        raise ValueError(refusal)
    return str(_text(library.keras_transformer_instructions))


def check_library() -> None:
    """Checks that the operators can be used, and logs once if they are slow.

    Raises:
        ImportError: The operators are not compiled, or cannot be loaded.
        ValueError: KERAS_TRANSFORMER_MAX_ISA names no set of instructions.
    """
    operators_version()
    if instructions() == PORTABLE:
        _tell_that_they_are_slow()


def check_version(version: int | None, revision: int | None) -> None:
    """Checks that the operators that are compiled here read an artefact's graphs.

    Args:
        version: The version that the artefact's manifest records; the first one if None.
        revision: The revision that it records; the first one if None.

    Raises:
        ImportError: They are not compiled, cannot be loaded, are of another version, or of an
            earlier revision.
    """
    wanted, found = _FIRST if version is None else version, operators_version()
    if wanted != found:
        raise ImportError(
            f"the artefact was exported for version {wanted} of this package's operators, and "
            f"version {found} is installed: export the model again, or install the version of the "
            "package that wrote the artefact (its manifest.json names it under producer)."
        )
    needed, known = _FIRST if revision is None else revision, operators_revision()
    if needed > known:
        raise ImportError(
            f"the artefact was exported for revision {needed} of this package's operators, and "
            f"revision {known} is installed: update this package to the version that wrote the "
            "artefact (its manifest.json names it under producer), or export the model again with "
            "the installed one."
        )


def register_operators(options: SessionOptions, version: int | None, revision: int | None) -> None:
    """Registers the operators in a session's options.

    Args:
        options: The session's options.
        version: The version that the artefact's manifest records; the first one if None.
        revision: The revision that it records; the first one if None.

    Raises:
        ImportError: The operators are not compiled, cannot be loaded, or are of another version or
            an earlier revision, or onnxruntime refuses the library.
        ValueError: KERAS_TRANSFORMER_MAX_ISA names no set of instructions.
    """
    check_version(version, revision)
    check_library()
    try:
        options.register_custom_ops_library(str(operators_library()))
    except Exception as error:  # onnxruntime's own errors share no other class.
        raise _unusable(operators_library(), error) from error


@functools.cache
def _load(path: Path) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(str(path))
        library.keras_transformer_operators_revision  # noqa: B018 (absent from older libraries)
    except (OSError, AttributeError) as error:
        raise _unusable(path, error) from error
    return library


def _text(function: Any) -> str | None:
    function.restype = ctypes.c_char_p
    found = function()
    return None if found is None else found.decode()


def _unusable(path: Path, error: Exception) -> ImportError:
    return ImportError(
        f"the operators in {path} cannot be used, so they were compiled for another system or "
        f"version: install this package again from source, or export with "
        f'target="onnxruntime" ({error}).'
    )


@functools.cache
def _tell_that_they_are_slow() -> None:
    _log.warning(
        'operators of target="native" have no fast kernels for this processor or compiler, and may '
        "be several times slower than onnxruntime's own, above all in int8: run them on Linux, on "
        "x86-64 with AVX2 or on arm64 with dot products, compiled by GCC or clang, "
        'or export with target="onnxruntime"'
    )
