"""4-bit blocks: integers of 4 bits, scales that bfloat16 holds, less error than plain rounding."""

import gguf
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.export.onnx.quantize.int4_blocks import BFLOAT16, Int4Blocks
from keras_transformer.export.onnx.settings import Int4Form

FORMS = [Int4Form(size, zeros) for size in (32, 128) for zeros in (False, True)]


def draw(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def error(form: Int4Form, lines: np.ndarray) -> float:
    return float(np.square(Int4Blocks.nearest(lines, form).lines(lines.shape[1]) - lines).mean())


@given(
    seed=st.integers(0, 2**31),
    outputs=st.integers(1, 20),
    inputs=st.integers(1, 300),
    exponent=st.integers(-30, 30),
    form=st.sampled_from(FORMS),
)
@settings(max_examples=30)
def test_no_weight_moves_farther_than_a_step_of_its_blocks_range(
    seed: int, outputs: int, inputs: int, exponent: int, form: Int4Form
) -> None:
    lines = draw(seed, outputs, inputs) * np.float32(2.0**exponent)
    found = Int4Blocks.nearest(lines, form)
    np.testing.assert_array_equal(found.scales, found.scales.astype(BFLOAT16))
    assert max(found.values.max(), found.zeros.max()) <= 15
    size = form.block_size
    for start in range(0, inputs, size):
        part = lines[:, start : start + size]
        moved = np.abs(found.lines(inputs)[:, start : start + size] - part).max(axis=1)
        assert (moved <= 0.42 * np.abs(part).max(axis=1) + 1e-30).all()


@pytest.mark.parametrize("form", FORMS)
def test_what_4_bits_hold_stays(form: Int4Form) -> None:
    values = np.random.default_rng(0).integers(-8, 8, (3, 256)).astype(np.float32)
    values[:, ::32], values[:, 1::32] = -8, 7
    found = Int4Blocks.nearest(values * np.float32(0.25), form).lines(256)
    np.testing.assert_array_equal(found, values * np.float32(0.25))


@pytest.mark.parametrize("form", FORMS)
def test_weights_of_4_bits_keep_their_integers(form: Int4Form) -> None:
    """As GPTQ and AWQ round them: groups of 128, scales in float16, times a factor of a layer's."""
    drawn = np.random.default_rng(0)
    values, zeros = drawn.integers(0, 16, (9, 2, 128)), np.full((9, 2, 1), 8)
    if form.zero_points:
        zeros = drawn.integers(0, 16, zeros.shape)
    scales = drawn.uniform(0.001, 0.03, zeros.shape).astype(np.float16).astype(np.float32)
    lines = ((values - zeros) * scales * np.float32(0.3)).astype(np.float32).reshape(9, -1)
    found = Int4Blocks.nearest(lines, form)
    steps = found.values.astype(int) - found.zeros.astype(int)[..., None]
    np.testing.assert_array_equal(steps.reshape(9, 2, 128), values - zeros)
    np.testing.assert_allclose(found.lines(256), lines, rtol=2**-8)


def test_weights_of_llama_cpps_q4_0_keep_their_integers() -> None:
    kind, lines = gguf.GGMLQuantizationType.Q4_0, draw(0, 16, 96)
    rounded = gguf.dequantize(gguf.quantize(lines, kind), kind)
    found = Int4Blocks.nearest(rounded, Int4Form(32))
    np.testing.assert_allclose(found.lines(96), rounded, rtol=2**-8)


def test_small_blocks_and_zero_points_err_less() -> None:
    lines = np.abs(draw(0, 64, 256)) + draw(1, 64, 1)
    assert error(Int4Form(32), lines) < error(Int4Form(128), lines)
    assert error(Int4Form(32, True), lines) < 0.6 * error(Int4Form(32), lines)


def test_the_searched_scale_errs_less_than_that_of_the_largest_weight() -> None:
    lines = draw(0, 500, 128)
    scales = np.abs(lines).reshape(500, -1, 32).max(axis=2).repeat(32, axis=1) / 7
    plain = np.square(np.rint(lines / scales) * scales - lines).mean()
    assert error(Int4Form(), lines) < 0.85 * plain


@pytest.mark.parametrize("form", FORMS)
def test_zeros_and_tiny_numbers_stay_near_zero(form: Int4Form) -> None:
    lines = np.zeros((2, 40), np.float32)
    lines[1] = 1e-42
    assert np.abs(Int4Blocks.nearest(lines, form).lines(40)).max() <= 1e-40
