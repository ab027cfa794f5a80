"""Linear layers in bytes are what their rounded weights give in float64, whatever rows are beside a
row, and the sub-layers made of them are the single operators one after another."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keras_transformer.export.onnx.quantize.int8_matrices import quantize_lines
from keras_transformer.export.onnx.quantize.native_linear import PackedLinear

Run = Callable[..., list[np.ndarray]]
WIDTHS = st.integers(1, 90)
SEEDS = st.integers(0, 2**31)


def draw(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


class Layer(NamedTuple):
    """A random layer, as it is stored and as it is meant."""

    packed: PackedLinear
    kernel: np.ndarray
    bias: np.ndarray

    @classmethod
    def random(cls, seed: int, inputs: int, outputs: int, in_bytes: bool | None = None) -> "Layer":
        """Inputs are rounded to bytes or to words; the seed says which unless asked for."""
        in_bytes = seed % 3 > 0 if in_bytes is None else in_bytes
        values, scales = quantize_lines(draw(seed, outputs, inputs), axis=0, summed=in_bytes)
        bias = draw(seed + 1, outputs)
        kernel = values.T.astype(np.float64) * scales
        pack = PackedLinear.for_bytes if in_bytes else PackedLinear.for_words
        return cls(pack(values, scales, bias), kernel, bias)

    def apply(self, run: Run, rows: np.ndarray, relu: int = 0) -> np.ndarray:
        inputs = [rows, *self.packed]
        flags = {"units": len(self.bias), "relu": relu, "offsets": 1}
        [found] = run("BytesLinear", inputs, stored=(1, 2), **flags)
        return found


@given(
    seed=SEEDS,
    rows=st.integers(1, 70),
    inputs=WIDTHS,
    outputs=WIDTHS,
    relu=st.booleans(),
    in_bytes=st.booleans(),
)
@example(seed=0, rows=1, inputs=2048, outputs=33, relu=False, in_bytes=False)
# More than one thread's work, of many rows and of a few.
@example(seed=0, rows=400, inputs=80, outputs=96, relu=True, in_bytes=False)
@example(seed=0, rows=400, inputs=80, outputs=1000, relu=True, in_bytes=True)
@example(seed=0, rows=3, inputs=2048, outputs=1999, relu=False, in_bytes=True)
def test_outputs_are_the_float64_product_with_the_rounded_weights(
    run: Run, seed: int, rows: int, inputs: int, outputs: int, relu: bool, in_bytes: bool
) -> None:
    layer, x = Layer.random(seed, inputs, outputs, in_bytes), draw(seed + 2, rows, inputs)
    x[rows // 2] *= 1e-3
    x[rows // 3] = np.abs(x[rows // 3])
    found = layer.apply(run, x, int(relu))
    expected = x.astype(np.float64) @ layer.kernel + layer.bias
    expected = np.maximum(expected, 0) if relu else expected
    # Half a step of a word or a byte for each input, and float32's rounding.
    words = min(2**15 - 1, (2**31 - 1) // (127 * inputs))
    most = np.where((x < 0).any(axis=1, keepdims=True), 127, 255) if in_bytes else words
    error = np.abs(x).max(axis=1, keepdims=True) / most * np.abs(layer.kernel).sum(axis=0)
    assert (np.abs(found - expected) <= 0.51 * error + 1e-6 * (1 + np.abs(expected))).all()


@given(seed=SEEDS, rows=st.integers(2, 70), inputs=WIDTHS, outputs=WIDTHS)
def test_a_row_is_the_same_to_the_last_bit_among_any_others(
    run: Run, seed: int, rows: int, inputs: int, outputs: int
) -> None:
    layer, x = Layer.random(seed, inputs, outputs), draw(seed + 2, rows, inputs)
    together = layer.apply(run, x)
    row = seed % rows
    np.testing.assert_array_equal(layer.apply(run, x[[row]])[0], together[row])


@pytest.mark.parametrize(
    ("pack", "inputs", "weight"),
    [(PackedLinear.for_words, 4000, 127), (PackedLinear.for_bytes, 2**16, 64)],
)
@pytest.mark.parametrize("value", [-3.0, 3.0])
def test_the_largest_sums_do_not_overflow(
    run: Run, pack: Callable[..., PackedLinear], inputs: int, weight: int, value: float
) -> None:
    values = np.full((8, inputs), weight, np.int8)
    packed = pack(values, np.ones(8, np.float32), np.zeros(8, np.float32))
    x = np.full((1, inputs), value, np.float32)
    [found] = run("BytesLinear", [x, *packed], stored=(1, 2), units=8, relu=0)
    np.testing.assert_allclose(found, np.full((1, 8), value * weight * inputs), rtol=1e-6)


@pytest.mark.parametrize("size", [0.0, 1e-38, 1e-44])
def test_rows_of_next_to_nothing_give_the_bias(run: Run, size: float) -> None:
    layer = Layer.random(0, 16, 24)
    found = layer.apply(run, np.full((2, 16), size, np.float32))
    np.testing.assert_allclose(found, np.stack([layer.bias] * 2), rtol=1e-6)


def test_rows_of_another_width_are_refused(run: Run) -> None:
    layer = Layer.random(0, 16, 24, in_bytes=False)
    with pytest.raises(Exception, match=r"bytes must have the shape \(2, 9, 16, 2, \)"):
        layer.apply(run, draw(0, 2, 18))
    layer = Layer.random(0, 16, 24, in_bytes=True)
    with pytest.raises(Exception, match=r"bytes must have the shape \(2, 32, 16, 4, \)"):
        layer.apply(run, draw(0, 2, 65))


class SubLayer(NamedTuple):
    """The weights of a random sub-layer over states of some width."""

    first: Layer
    last: Layer
    norm: list[np.ndarray]

    @classmethod
    def random(cls, seed: int, width: int, projected: int, given: int) -> "SubLayer":
        norm = [draw(seed + 6, width), draw(seed + 7, width)]
        first = Layer.random(seed, width, projected)
        return cls(first, Layer.random(seed + 3, given, width), norm)

    def merged(
        self,
        run: Run,
        name: str,
        states: Sequence[np.ndarray],
        more: Sequence[np.ndarray],
        outputs: int = 2,
        **flags: int,
    ) -> list[np.ndarray]:
        inputs = [*states, *self.first.packed, *self.last.packed, *self.norm, *more]
        return run(name, inputs, outputs=outputs, stored=range(2, 8), epsilon=1e-6, **flags)

    def finish(self, run: Run, hidden: np.ndarray, residual: np.ndarray) -> list[np.ndarray]:
        inputs = [residual, self.last.apply(run, hidden), *self.norm]
        return run("AddNorm", inputs, outputs=2, stored=(2, 3), epsilon=1e-6)


def assert_same(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@given(
    name=st.sampled_from(["FeedForward", "Gelu", "TanhGelu"]),
    seed=SEEDS,
    rows=st.integers(1, 70),
    width=WIDTHS,
    hidden=WIDTHS,
)
@example(name="FeedForward", seed=0, rows=500, width=64, hidden=128)
@example(name="Gelu", seed=0, rows=500, width=64, hidden=127)
def test_a_feed_forward_sub_layer_is_its_operators(
    run: Run, name: str, seed: int, rows: int, width: int, hidden: int
) -> None:
    layer = SubLayer.random(seed, width, hidden, hidden)
    x, residual = draw(seed + 8, rows, width), draw(seed + 9, rows, width)
    found = layer.merged(run, f"{name}SubLayer", [x, residual], [], units=hidden)
    if name == "FeedForward":
        projected = layer.first.apply(run, x, relu=1)
    else:
        [projected] = run(name, [layer.first.apply(run, x)])
    assert_same(found, layer.finish(run, projected, residual))


@given(
    seed=SEEDS,
    batch=st.integers(1, 20),
    beams=st.integers(1, 4),
    heads=st.integers(1, 3),
    width=st.sampled_from([3, 8, 20]),
    step=st.integers(0, 9),
    window=st.sampled_from([0, 3]),
)
def test_a_self_attention_sub_layer_is_its_operators(
    run: Run, seed: int, batch: int, beams: int, heads: int, width: int, step: int, window: int
) -> None:
    rows, model, flags = batch * beams, heads * width, {"window": window}
    layer = SubLayer.random(seed, model + 1, 3 * model, model)
    x, residual = draw(seed + 8, rows, model + 1), draw(seed + 9, rows, model + 1)
    caches = [draw(seed + n, rows, heads, 10, width) for n in (10, 11)]
    table = np.random.default_rng(seed).integers(0, beams, (batch, beams, 10)).astype(np.int32)
    more = [*caches, np.array([step], np.int32), table]
    found = layer.merged(run, "SelfAttentionSubLayer", [x, residual], more, outputs=4, **flags)
    projected = layer.first.apply(run, x)
    attended, *written = run("SelfAttention", [projected, *more], outputs=3, **flags)
    assert_same(found, [*layer.finish(run, attended, residual), *written])


@given(
    seed=SEEDS,
    batch=st.integers(1, 20),
    beams=st.integers(1, 4),
    heads=st.integers(1, 3),
    width=st.sampled_from([3, 8, 20]),
    length=st.integers(1, 9),
)
def test_a_cross_attention_sub_layer_is_its_operators(
    run: Run, seed: int, batch: int, beams: int, heads: int, width: int, length: int
) -> None:
    rows, model = batch * beams, heads * width
    layer = SubLayer.random(seed, model + 1, model, model)
    x, residual = draw(seed + 8, rows, model + 1), draw(seed + 9, rows, model + 1)
    keys, values = (draw(seed + n, batch, heads, length, width) for n in (10, 11))
    mask = np.random.default_rng(seed).integers(0, 2, (batch, length)).astype(np.int32)
    more = [keys, values, mask]
    found = layer.merged(run, "CrossAttentionSubLayer", [x, residual], more)
    [attended] = run("CrossAttention", [layer.first.apply(run, x), *more])
    assert_same(found, layer.finish(run, attended, residual))


@given(
    seed=SEEDS,
    lengths=st.lists(st.integers(0, 40), min_size=1, max_size=9),
    heads=st.integers(1, 3),
    width=st.sampled_from([3, 8, 20]),
    is_packed=st.booleans(),
)
def test_a_sequence_attention_sub_layer_is_its_operators(
    run: Run, seed: int, lengths: list[int], heads: int, width: int, is_packed: bool
) -> None:
    model = heads * width
    mask = (np.arange(max(lengths) + seed % 2) < np.array(lengths)[:, None]).astype(np.int32)
    rows = mask.sum() if is_packed else mask.size
    layer = SubLayer.random(seed, model, 3 * model, model)
    x, residual = draw(seed + 8, rows, model), draw(seed + 9, rows, model)
    flags = {"heads": heads, "units": 3 * model}
    found = layer.merged(run, "SequenceAttentionSubLayer", [x, residual], [mask], **flags)
    [attended] = run("SequenceAttention", [layer.first.apply(run, x), mask], heads=heads)
    assert_same(found, layer.finish(run, attended, residual))


def test_a_residual_of_another_shape_is_refused(run: Run) -> None:
    layer, x = SubLayer.random(0, 16, 24, 24), draw(0, 3, 16)
    with pytest.raises(Exception, match=r"residual must have the shape \(3, 16, \), got \(1, 16"):
        layer.merged(run, "FeedForwardSubLayer", [x, x[:1]], [], units=24)


@pytest.mark.parametrize("places", [[7], [3, 40, 41], list(range(20))])
@pytest.mark.parametrize("size", [-1e4, 1e5])
def test_a_value_far_beyond_the_others_does_not_make_them_coarse(
    run: Run, places: list[int], size: float
) -> None:
    layer, x = Layer.random(0, 130, 40, in_bytes=True), draw(2, 5, 130)
    x[1, places] = size
    found = layer.apply(run, x)[1] - layer.apply(run, np.where(x == size, x, 0))[1]
    expected = np.where(x[1] == size, 0, x[1]) @ layer.kernel
    # float32 cannot hold more beside so large a product.
    atol = 1 + 1e-6 * abs(size) * np.abs(layer.kernel[places]).sum(axis=0).max()
    is_held = np.allclose(found, expected, rtol=0, atol=atol)
    # More places than there is room for are rounded with the others.
    assert is_held == (len(places) <= 8)


def test_rows_mostly_on_one_side_of_zero_have_half_the_step(run: Run) -> None:
    layer, x = Layer.random(0, 300, 40, in_bytes=True), draw(2, 50, 300)
    x = np.maximum(x, -0.17 * np.abs(x) / np.abs(x).max())
    error = layer.apply(run, x) - (x @ layer.kernel + layer.bias)
    step = (x.max(axis=1) - x.min(axis=1)) / 255
    expected = step[:, None] * np.sqrt((layer.kernel**2).sum(axis=0) / 12)
    assert np.sqrt(np.mean((error / expected) ** 2)) < 1.1


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 15, 64, 129])
def test_a_row_that_is_not_finite_gives_nan(run: Run, value: float, place: int) -> None:
    layer, x = Layer.random(0, 130, 40, in_bytes=True), draw(2, 5, 130)
    x[1, place] = value
    found = layer.apply(run, x)
    assert np.isnan(found[1]).all() and np.isfinite(np.delete(found, 1, axis=0)).all()
