"""`--products`: whether the process that trains rounds the factors of matrix products."""

from typing import Literal

from keras_transformer.training.run.options import TrainOptions

Products = Literal["auto", "float32", "bfloat16"]


def check_products(products: Products, options: TrainOptions) -> None:
    """Raises `ValueError` if --products bfloat16 does not fit the other options."""
    if products == "bfloat16" and not _can_round(options):
        raise ValueError(
            "--products bfloat16 works only in float32 and without XLA: leave out --dtype-policy "
            "mixed_bfloat16 and --jit-compile, or leave out --products."
        )


def choose_products(products: Products, options: TrainOptions) -> None:
    """Rounds the factors of this process's matrix products to bfloat16 if requested, or if "auto"
    and fast.

    Call it after `open_replicas`: it multiplies, and TensorFlow joins a cluster first or not at
    all.

    Raises:
        ValueError: It was requested, but the processor does not support it.
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
