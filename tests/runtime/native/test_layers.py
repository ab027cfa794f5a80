"""The operators between the products agree with Keras's own layers, and int8 rows with what they
are rounded from."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.layers.positions import SinusoidalPositions, token_positions

PAD_ID = SpecialIds.pad

Run = Callable[..., list[np.ndarray]]
WIDTHS = st.integers(1, 80)


def draw(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@given(seed=st.integers(0, 2**31), rows=st.integers(1, 5), width=WIDTHS)
def test_add_norm_is_a_sum_and_keras_s_layer_normalization(
    run: Run, seed: int, rows: int, width: int
) -> None:
    x, y, gamma, beta = (
        draw(seed + n, *shape) for n, shape in enumerate([(rows, width)] * 2 + [(width,)] * 2)
    )
    sums, norms = run("AddNorm", [x, y, gamma, beta], outputs=2, stored=(2, 3), epsilon=1e-3)
    np.testing.assert_array_equal(sums, x + y)
    layer = keras.layers.LayerNormalization(epsilon=1e-3)
    layer.build((rows, width))
    layer.set_weights([gamma, beta])
    np.testing.assert_allclose(norms, np.asarray(layer(x + y)), rtol=1e-3, atol=1e-4)
    [alone] = run("NormRows", [sums, gamma, beta], stored=(1, 2), epsilon=1e-3)
    np.testing.assert_array_equal(alone, norms)


@pytest.mark.parametrize("others", [3, 1])
def test_rows_are_added_to_as_many_or_to_all(run: Run, others: int) -> None:
    x, y = draw(0, 3, 21), draw(1, others, 21)
    np.testing.assert_array_equal(run("AddRows", [x, y])[0], x + y)


def test_rows_are_not_added_to_others(run: Run) -> None:
    with pytest.raises(Exception, match=r"y must have the shape \(3, 8, \), got \(2, 8, \)"):
        run("AddRows", [draw(0, 3, 8), draw(1, 2, 8)])


def test_numbers_stand_behind_each_row(run: Run) -> None:
    x, y = draw(0, 3, 21), draw(1, 5)
    [found] = run("AppendRow", [x, y])
    np.testing.assert_array_equal(found, np.concatenate([x, np.tile(y, (3, 1))], axis=1))


def test_nothing_stands_behind_rows_without_a_width(run: Run) -> None:
    with pytest.raises(Exception, match="the width of x must be from 1 to .*, got 0"):
        run("AppendRow", [np.zeros((2**40, 0), np.float32), draw(1, 5)])


@given(seed=st.integers(0, 2**31), rows=st.integers(0, 5), width=st.integers(1, 40))
@example(seed=0, rows=9, width=5003)  # More than one thread's work.
def test_a_soft_cap_bounds_each_number(run: Run, seed: int, rows: int, width: int) -> None:
    x = 20 * draw(seed, rows, width)
    [found] = run("SoftCap", [x], soft_cap=30.0)
    np.testing.assert_allclose(found, 30 * np.tanh(x.astype(np.float64) / 30), atol=5e-6)


def test_a_soft_cap_keeps_what_no_number_stands_for(run: Run) -> None:
    x = np.array([[np.inf, -np.inf, np.nan, 0.0]], np.float32)
    [found] = run("SoftCap", [x], soft_cap=30.0)
    np.testing.assert_array_equal(found, [[30, -30, np.nan, 0]])
    with pytest.raises(Exception, match="soft_cap must be positive, got 0"):
        run("SoftCap", [x], soft_cap=0.0)


@given(seed=st.integers(0, 2**31), rows=st.integers(1, 5), width=WIDTHS)
def test_add_rms_norm_is_a_sum_and_keras_s_rms_normalization(
    run: Run, seed: int, rows: int, width: int
) -> None:
    x, y, gamma = draw(seed, rows, width), draw(seed + 1, rows, width), draw(seed + 2, width)
    sums, norms = run("AddRmsNorm", [x, y, gamma], outputs=2, stored=(2,), epsilon=1e-3)
    np.testing.assert_array_equal(sums, x + y)
    layer = keras.layers.RMSNormalization(epsilon=1e-3)
    layer.build((rows, width))
    layer.set_weights([gamma])
    np.testing.assert_allclose(norms, np.asarray(layer(x + y)), rtol=1e-5, atol=1e-5)
    [alone] = run("RmsNormRows", [sums, gamma], stored=(1,), epsilon=1e-3)
    np.testing.assert_array_equal(alone, norms)


def test_many_rows_are_the_same_as_each_by_itself(run: Run) -> None:
    x, y, gamma, beta = draw(0, 3000, 72), draw(1, 3000, 72), draw(2, 72), draw(3, 72)
    together = run("AddNorm", [x, y, gamma, beta], outputs=2, stored=(2, 3), epsilon=1e-6)
    for row in (0, 1234, 2999):
        apart = run(
            "AddNorm", [x[[row]], y[[row]], gamma, beta], outputs=2, stored=(2, 3), epsilon=1e-6
        )
        for one, other in zip(together, apart, strict=True):
            np.testing.assert_array_equal(one[[row]], other)


def test_a_smaller_second_summand_is_refused(run: Run) -> None:
    x, y, of_row = np.zeros((3, 8), np.float32), np.zeros((1, 8), np.float32), draw(0, 8)
    with pytest.raises(Exception, match=r"y must have the shape \(3, 8, \), got \(1, 8, \)"):
        run("AddNorm", [x, y, of_row, of_row], outputs=2, stored=(2, 3), epsilon=1e-6)


@given(step=st.integers(0, 2000), width=WIDTHS, rows=st.integers(1, 4))
def test_add_sinusoid_is_the_position_of_the_keras_layer(
    run: Run, step: int, width: int, rows: int
) -> None:
    layer, found = SinusoidalPositions(width), draw(step, rows, width)
    place = np.array([step], np.int32)
    [states] = run("AddSinusoid", [found, place, layer.rates()], stored=[2], scale=3.0)
    expected = 3.0 * found + np.asarray(layer.vectors(place))
    np.testing.assert_allclose(states, expected, rtol=1e-5, atol=2e-6)


@given(seed=st.integers(0, 2**31), width=WIDTHS, rows=st.integers(2, 6))
def test_add_sinusoid_takes_a_position_for_each_row(
    run: Run, seed: int, width: int, rows: int
) -> None:
    layer, found = SinusoidalPositions(width), draw(seed, rows, width)
    places = np.random.default_rng(seed).integers(0, 600, rows).astype(np.int32)
    [states] = run("AddSinusoid", [found, places, layer.rates()], stored=[2], scale=3.0)
    expected = 3.0 * found + np.asarray(layer.vectors(places))
    np.testing.assert_allclose(states, expected, rtol=1e-5, atol=2e-6)


@given(seed=st.integers(0, 2**31), batch=st.integers(1, 4), length=st.integers(1, 12))
def test_token_positions_are_those_of_the_keras_layer(
    run: Run, seed: int, batch: int, length: int
) -> None:
    ids = np.random.default_rng(seed).integers(0, 3, (batch, length)).astype(np.int32)
    mask, positions = run("TokenPositions", [ids], outputs=2, pad=PAD_ID)
    np.testing.assert_array_equal(mask, ids != PAD_ID)
    np.testing.assert_array_equal(positions, np.ravel(token_positions(ids != PAD_ID)))
    packed = run("PackTokens", [ids], outputs=3, pad=PAD_ID)
    keep = mask.ravel() == 1
    for found, expected in zip(packed, (mask, ids.ravel()[keep], positions[keep]), strict=True):
        np.testing.assert_array_equal(found, expected)


@given(
    seed=st.integers(0, 2**31),
    parts=st.integers(1, 5),
    heads=st.integers(1, 4),
    width=st.integers(1, 9),
    length=st.integers(1, 7),
)
def test_split_heads_is_a_reshape_and_a_transposition(
    run: Run, seed: int, parts: int, heads: int, width: int, length: int
) -> None:
    projected = draw(seed, 2 * length, parts * heads * width)
    mask = np.ones((2, length), np.int32)
    found = run("SplitHeads", [projected, mask], outputs=parts, parts=parts, heads=heads)
    expected = projected.reshape(2, length, parts, heads, width).transpose(2, 0, 3, 1, 4)
    np.testing.assert_array_equal(np.stack(found), expected)


def test_a_position_is_not_taken_for_another_of_the_same_slot(run: Run) -> None:
    layer, found = SinusoidalPositions(6), np.zeros((1, 6), np.float32)
    for step in (3, 3 + 256, 3):
        place = np.array([step], np.int32)
        [states] = run("AddSinusoid", [found, place, layer.rates()], stored=[2], scale=1.0)
        np.testing.assert_allclose(states[0], np.asarray(layer.vectors(place))[0], atol=2e-6)


@given(
    seed=st.integers(0, 2**31),
    rows=st.integers(1, 5),
    width=WIDTHS,
    spread=st.sampled_from([0.0, 1e-20, 1.0, 1e20]),
    middle=st.sampled_from([128, 0]),
)
def test_rows_in_bytes_are_within_half_a_step(
    run: Run, seed: int, rows: int, width: int, spread: float, middle: int
) -> None:
    values = spread * draw(seed, rows, width).astype(np.float64)
    values = (values if middle else np.abs(values)).astype(np.float32)
    found, scales = run("QuantizeRows", [values], outputs=2, middle=middle)
    assert (scales.shape, found.dtype) == ((rows, 1), np.uint8)
    largest = np.abs(values).max(axis=1, keepdims=True)
    np.testing.assert_allclose(scales, largest / (127 if middle else 255), rtol=1e-6)
    back = (found.astype(np.float64) - middle) * scales
    assert (np.abs(back - values) <= 0.5001 * scales).all()


@given(seed=st.integers(0, 2**31), rows=st.integers(1, 5), width=WIDTHS)
def test_sums_are_scaled_by_column_and_by_row(run: Run, seed: int, rows: int, width: int) -> None:
    sums = np.random.default_rng(seed).integers(-(2**23), 2**23, (rows, width), np.int32)
    scales, of_rows = draw(seed, width), draw(seed + 1, rows, 1)
    [found] = run("ScaleSums", [sums, scales, of_rows], stored=[1], relu=0)
    expected = sums.astype(np.float64) * scales * of_rows
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    bias = draw(seed + 2, width)
    [found] = run("ScaleSums", [sums, scales, of_rows, bias], stored=[1, 3], relu=1)
    expected, size = np.maximum(expected + bias, 0), np.abs(expected) + 1
    assert (np.abs(found - expected) <= 1e-6 * size).all()


@given(
    seed=st.integers(0, 2**31),
    shape=st.lists(st.integers(0, 5), max_size=3).map(tuple),
    width=WIDTHS,
)
@example(seed=0, shape=(8, 400), width=80)  # On several threads.
def test_a_look_up_gives_scaled_rows_of_the_table(
    run: Run, seed: int, shape: tuple[int, ...], width: int
) -> None:
    random = np.random.default_rng(seed)
    table = random.integers(-127, 128, (30, width), np.int8)
    scales, ids = draw(seed, 30), np.asarray(random.integers(0, 30, shape, np.int32))
    [found] = run("LookUp", [table, scales, ids], stored=[0, 1])
    np.testing.assert_array_equal(found, table[ids].astype(np.float32) * scales[ids][..., None])


@pytest.mark.parametrize("ids", [[30], [0, -1], [[0, 1], [2, 30]], [[[-(2**31)]]]])
def test_ids_outside_the_table_are_refused(run: Run, ids: list[Any]) -> None:
    wrong = np.array(ids, np.int32)
    inputs = [np.ones((30, 4), np.int8), np.ones(30, np.float32), wrong]
    with pytest.raises(Exception, match=rf"ids must be from 0 to 29, got {wrong.flat[-1]}"):
        run("LookUp", inputs, stored=[0, 1])


@given(seed=st.integers(0, 2**31), rows=st.integers(1, 5), width=st.integers(1, 700))
def test_the_largest_place_is_numpy_s(run: Run, seed: int, rows: int, width: int) -> None:
    # Few different values, so that the first of equal ones must be found.
    values = np.random.default_rng(seed).integers(-5, 1, (rows, width)).astype(np.float32)
    [places] = run("LargestPlace", [values])
    np.testing.assert_array_equal(places, values.argmax(axis=1))
