"""GPTQ changes what a layer makes of its calibration inputs less than rounding to the nearest."""

import numpy as np
import pytest

from keras_transformer.export.onnx.calibrate.gptq import gptq
from keras_transformer.export.onnx.quantize.int4_blocks import BFLOAT16, Int4Blocks
from keras_transformer.export.onnx.settings import Int4Form

INPUTS, OUTPUTS = 100, 40
FORMS = [Int4Form(size, zeros) for size in (32, 128) for zeros in (False, True)]


def correlated(seed: int, rows: int = 500) -> np.ndarray:
    """Inputs of few directions and some noise, as layers have them."""
    random = np.random.default_rng(seed)
    mix = random.standard_normal((20, INPUTS))
    return random.standard_normal((rows, 20)) @ mix + 0.3 * random.standard_normal((rows, INPUTS))


LINES = np.random.default_rng(1).standard_normal((OUTPUTS, INPUTS)).astype(np.float32)


def error(blocks: Int4Blocks, x: np.ndarray) -> float:
    return float(np.square(x @ (blocks.lines(INPUTS) - LINES).T).mean())


@pytest.mark.parametrize("form", FORMS)
def test_products_change_less_on_these_inputs_and_on_others_like_them(form: Int4Form) -> None:
    x = correlated(0)
    x, others = x[:400], x[400:]
    found, nearest = gptq(LINES, x.T @ x, form), Int4Blocks.nearest(LINES, form)
    assert error(found, x) < 0.5 * error(nearest, x)
    assert error(found, others) < 0.6 * error(nearest, others)
    np.testing.assert_array_equal(found.scales, found.scales.astype(BFLOAT16))


@pytest.mark.parametrize("form", FORMS)
def test_without_correlations_it_is_rounding_to_the_nearest(form: Int4Form) -> None:
    found = gptq(LINES, np.eye(INPUTS), form)
    for one, other in zip(found, Int4Blocks.nearest(LINES, form), strict=True):
        np.testing.assert_array_equal(one, other)


def test_inputs_that_no_text_had_do_no_harm() -> None:
    x = correlated(0)
    x[:, 50:] = 0
    assert error(gptq(LINES, x.T @ x, Int4Form()), x) < error(
        Int4Blocks.nearest(LINES, Int4Form()), x
    )
    assert np.isfinite(gptq(LINES, np.zeros((INPUTS, INPUTS)), Int4Form()).lines(INPUTS)).all()
