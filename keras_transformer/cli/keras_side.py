"""Loads the training code, which needs TensorFlow, for the command line: late, and without noise.

If TensorFlow is missing, the error names the extra to install. And decides how the process
multiplies.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from keras_transformer.cli.flags.run import Products
from keras_transformer.distribution import install_command
from keras_transformer.training.run.options import TrainOptions


def load_training() -> ModuleType:
    """Imports `keras_transformer.training.run.train`, TensorFlow included.

    Raises:
        ImportError: A package of the extra [train] is not installed.
    """
    try:
        with _without_start_messages():
            return import_module("keras_transformer.training.run.train")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("keras_transformer"):
            raise
        raise _missing(error.name) from error


def require_training() -> None:
    """Looks for the packages of the extra [train], without loading them.

    Raises:
        ImportError: One is not installed.
    """
    for name in ("tensorflow", "keras"):
        if find_spec(name) is None:
            raise _missing(name)


def check_products(products: Products, options: TrainOptions) -> None:
    """Raises `ValueError` if products of bfloat16 were asked for where only float32 is rounded."""
    if products == "bfloat16" and not _can_round(options):
        raise ValueError(
            "--products bfloat16 rounds the factors of float32 products without XLA: leave out "
            "--dtype-policy mixed_bfloat16 and --jit-compile, or --products."
        )


def choose_products(products: Products, options: TrainOptions) -> None:
    """Rounds the factors of this process's products to bfloat16 where that is asked for, or fast.

    Call it after `open_replicas`: it multiplies, and TensorFlow joins a cluster first or not at
    all.

    Raises:
        ValueError: It was asked for, and the processor cannot do it.
    """
    if products == "float32" or not _can_round(options):
        return
    if _round_factors():
        print("products: factors are rounded to bfloat16 (--products float32 keeps them)")
    elif products == "bfloat16":
        raise ValueError(
            "--products bfloat16 needs TensorFlow on a processor that multiplies matrices of "
            "bfloat16 (Intel's with AMX), and no GPU: leave it out."
        )


def _round_factors() -> bool:
    from keras_transformer.layers.products.product import multiply_in_bfloat16

    return multiply_in_bfloat16()


def _can_round(options: TrainOptions) -> bool:
    return options.dtype_policy == "float32" and not options.jit_compile


def _missing(name: str | None) -> ImportError:
    return ImportError(
        f"models that are not exported need {name}: install it with `{install_command('train')}`."
    )


@contextmanager
def _without_start_messages() -> Iterator[None]:
    """Drops what TensorFlow's libraries write to stderr while they load, unless loading fails.

    They write past Python, straight to file descriptor 2, and before any log level applies.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as messages:
        os.dup2(messages.fileno(), 2)
        try:
            yield
        except BaseException:
            messages.seek(0)
            os.write(kept, messages.read())
            raise
        finally:
            os.dup2(kept, 2)
            os.close(kept)
