"""Whatever shapes, values and attributes a graph of one operator has, it gives ids that exist and
tensors of numbers, or onnxruntime's error: no crash."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors

from keras_transformer.export.onnx.quantize.byte_screen import ByteScreen
from keras_transformer.export.onnx.quantize.native_linear import PackedLinear

Run = Callable[..., list[np.ndarray]]
VOCABULARY = 20
REFUSED = (ort_errors.InvalidArgument, ort_errors.RuntimeException, ort_errors.Fail)


def floats(*shape: int) -> np.ndarray:
    return np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)


def ints(*shape: int) -> np.ndarray:
    return np.ones(shape, np.int32)


def linear(inputs: int, outputs: int, in_bytes: bool = False) -> list[np.ndarray]:
    values = np.ones((outputs, inputs), np.int8)
    pack = PackedLinear.for_bytes if in_bytes else PackedLinear.for_words
    return [*pack(values, floats(outputs), floats(outputs))]


CACHES = [floats(4, 2, 3, 8), floats(4, 2, 3, 8)]
STEP = [np.array([2], np.int32), np.zeros((2, 2, 3), np.int32)]
SOURCE = [floats(2, 2, 3, 8), floats(2, 2, 3, 8), ints(2, 3)]
COUNT = np.array([5])
SCREEN = [*ByteScreen.of(floats(VOCABULARY, 16))]
LISTS = [np.arange(6, dtype=np.int32), np.ones((2, 3), np.int32)]
NORM = [floats(16), floats(16)]
ROWS = [floats(4, 16), floats(4, 16)]
EPSILON = {"epsilon": 1e-6}
# Inputs, how many outputs, the places of stored inputs, and attributes that fit.
OPERATORS: dict[str, tuple[list[np.ndarray], int, tuple[int, ...], dict[str, Any]]] = {
    "SelfAttention": ([floats(4, 48), *CACHES, *STEP, floats(2, 5)], 3, (5,),
                      {"window": 2, "soft_cap": 2.0}),
    "Ssru": ([floats(4, 16), floats(4, 1, 2, 8), *STEP], 2, (), {}),
    "CrossAttention": ([floats(4, 16), *SOURCE], 1, (), {"soft_cap": 2.0}),
    "SequenceAttention": ([floats(6, 48), ints(2, 3), floats(2, 3), *[floats(2, 8, 16)] * 2,
                           np.arange(5, dtype=np.int32)], 1, (2, 3, 4, 5),
                          {"heads": 2, "shared": 2, "soft_cap": 2.0}),
    "FillCache": ([floats(8, 48), *CACHES, np.array([1], np.int32)], 2, (), {}),
    "PromptAttention": ([floats(8, 48), *CACHES, np.array([1], np.int32), floats(2, 5)], 1, (4,),
                        {"window": 2, "soft_cap": 2.0}),
    "Rotary": ([floats(4, 48), ints(4), floats(8)], 1, (2,), {"heads": 4}),
    "RmsNormHeads": ([floats(4, 48), floats(8), floats(8)], 1, (1, 2),
                     {"heads": 2, "shared": 2, **EPSILON}),
    "NormHeads": ([floats(4, 48), *NORM, floats(8), floats(8)], 1, (1, 2, 3, 4),
                  {"heads": 1, "shared": 2, **EPSILON}),
    "SplitHeads": ([floats(6, 32), ints(2, 3)], 2, (), {"heads": 2, "parts": 2}),
    "PackTokens": ([ints(2, 3)], 3, (), {"pad": 0}),
    "TokenPositions": ([ints(2, 3)], 2, (), {"pad": 0}),
    "LookUp": ([np.ones((9, 8), np.int8), floats(9), ints(2, 2)], 1, (0, 1), {}),
    "AddSinusoid": ([floats(4, 16), ints(4), floats(16)], 1, (2,), {"scale": 2.0}),
    "Scaled": ([floats(4, 16)], 1, (), {"scale": 2.0}),
    "SoftCap": ([floats(4, 16)], 1, (), {"soft_cap": 2.0}),
    "AddNorm": ([*ROWS, *NORM], 2, (2, 3), EPSILON),
    "BestToken": ([floats(4, 16), *SCREEN, floats(VOCABULARY, 16)], 1, (1, 2, 3, 4),
                  {"vocabulary": VOCABULARY}),
    "BestContinuations": ([floats(4, VOCABULARY), floats(2, 2), COUNT], 3, (), {}),
    "BestContinuationsOfStates": ([floats(4, 16), floats(2, 2), COUNT, *SCREEN], 4, (3, 4, 5),
                                  {"vocabulary": VOCABULARY}),
    "BestContinuationsOfFloats": ([floats(4, 16), floats(2, 2), COUNT, floats(VOCABULARY, 16)], 4,
                                  (3,), {}),
    "ListedLogits": ([floats(4, 16), *LISTS, floats(VOCABULARY, 16)], 1, (3,), {}),
    "ListedByteLogits": ([floats(4, 16), *LISTS, np.ones((VOCABULARY, 16), np.int8),
                          floats(VOCABULARY)], 1, (3, 4), {}),
    "ListedIds": ([*LISTS, ints(2, 2)], 1, (), {}),
    "NormRows": ([floats(4, 16), *NORM], 1, (1, 2), EPSILON),
    "AppendRow": ([floats(4, 16), floats(3)], 1, (), {}),
    "AddRows": ([floats(4, 16), floats(1, 16)], 1, (), {}),
    "AddRmsNorm": ([*ROWS, floats(16)], 2, (2,), EPSILON),
    "RmsNormRows": ([floats(4, 16), floats(16)], 1, (1,), EPSILON),
    "SiluGate": ([floats(4, 16)], 1, (), {}),
    "GeluGate": ([floats(4, 16)], 1, (), {}),
    "LargestPlace": ([floats(4, VOCABULARY)], 1, (), {}),
    "BytesLinear": ([floats(4, 16), *linear(16, 20)], 1, (1, 2), {"units": 20, "relu": 1}),
    "Int4Linear": ([floats(4, 16), np.ones((2, 1, 19, 16), np.uint8), floats(2, 16)], 1, (1, 2),
                   {"units": 20, "relu": 1}),
    "Int4LookUp": ([np.ones((2, 1, 19, 16), np.uint8), ints(4)], 1, (0,),
                   {"units": 20, "width": 16}),
    "Float32Linear": ([floats(4, 16), floats(20, 16), floats(20)], 1, (1, 2),
                      {"units": 20, "relu": 1, "transposed": 1}),
    "Float32LookUp": ([floats(9, 8), ints(4)], 1, (0,), {}),
    "SelfAttentionSubLayer": ([*ROWS, *linear(16, 48), *linear(16, 16), *NORM, *CACHES, *STEP], 4,
                              tuple(range(2, 8)), {"window": 2, **EPSILON}),
    "CrossAttentionSubLayer": ([*ROWS, *linear(16, 16), *linear(16, 16), *NORM, *SOURCE], 2,
                               tuple(range(2, 8)), EPSILON),
    "FeedForwardSubLayer": ([*ROWS, *linear(16, 32), *linear(32, 16, True), *NORM], 2,
                            tuple(range(2, 8)), {"units": 32, **EPSILON}),
    "TanhGeluSubLayer": ([*ROWS, floats(16, 32), floats(32), floats(32, 16), floats(16), *NORM], 2,
                         tuple(range(2, 8)), {"units": 32, **EPSILON}),
    "GeluSubLayer": ([*ROWS, *linear(16, 32), *linear(32, 16), *NORM], 2, tuple(range(2, 8)),
                     {"units": 32, **EPSILON}),
    "TanhGelu": ([floats(4, 16)], 1, (), {}),
    "SequenceAttentionSubLayer": ([*ROWS, *linear(16, 48, True), *linear(16, 16), *NORM,
                                   ints(2, 2)], 2, tuple(range(2, 8)),
                                  {"units": 48, "heads": 2, **EPSILON}),
    "QuantizeRows": ([floats(4, 16)], 2, (), {"middle": 128}),
    "ScaleSums": ([ints(4, 16), floats(16), floats(4, 1), floats(16)], 1, (1, 3), {"relu": 1}),
}  # fmt: skip
EXTREMES = [-(2**31), -1000, -1, 0, 1, 2, 1000, 2**31 - 1]
FLOATS = [float("nan"), float("inf"), -float("inf"), 3e38, -3e38, 1e-40]


@st.composite
def hostile(draw: st.DrawFn) -> tuple[str, list[np.ndarray], int, tuple[int, ...], dict[str, Any]]:
    """A node that fits but for a few shapes, values and attributes."""
    name = draw(st.sampled_from(sorted(OPERATORS)))
    inputs, outputs, stored, attributes = OPERATORS[name]
    inputs, attributes = [given.copy() for given in inputs], dict(attributes)
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, len(inputs) - 1))
        if draw(st.booleans()):
            shape = list(inputs[place].shape)
            for axis in range(len(shape)):
                shape[axis] = draw(st.sampled_from([shape[axis]] * 3 + [0, 1, shape[axis] + 1]))
            shape = shape + draw(st.sampled_from([[], [], [0], [1]]))
            shape = shape[: draw(st.sampled_from([5, 5, 5, len(shape) - 1]))]
            inputs[place] = np.ones(shape, inputs[place].dtype)
        elif inputs[place].size:
            is_float = inputs[place].dtype == np.float32
            limits = np.iinfo(np.int32) if is_float else np.iinfo(inputs[place].dtype)
            value = draw(st.sampled_from(FLOATS if is_float else EXTREMES))
            spot = draw(st.integers(0, inputs[place].size - 1))
            inputs[place].flat[spot] = value if is_float else np.clip(value, limits.min, limits.max)
    for key in sorted(attributes):
        if isinstance(attributes[key], int) and draw(st.integers(0, 5)) == 0:
            attributes[key] = draw(st.sampled_from([-1, 0, 1, 3, 2**31, 2**62]))
    stored = tuple(place for place in stored if draw(st.integers(0, 9)))
    return name, inputs, outputs, stored, attributes


@given(node=hostile())
@settings(max_examples=100)  # With every set of instructions.
def test_a_hostile_node_gives_what_exists_or_an_error(run: Run, node: Any) -> None:
    name, inputs, outputs, stored, attributes = node
    try:
        found = run(name, inputs, outputs, stored, **attributes)
    except REFUSED:
        return
    if name.startswith("Best"):
        assert ((found[0] >= 0) & (found[0] < VOCABULARY + 1)).all()


def test_what_is_made_hostile_fits_at_first(run: Run) -> None:
    for name, (inputs, outputs, stored, attributes) in OPERATORS.items():
        for found in run(name, inputs, outputs, stored, **attributes):
            assert np.isfinite(found).all(), name


@pytest.mark.parametrize("name", [name for name in OPERATORS if name.endswith("LookUp")])
def test_ids_of_any_axes_get_rows_or_an_error(run: Run, name: str) -> None:
    inputs, outputs, stored, attributes = OPERATORS[name]
    [of_one] = run(name, [*inputs[:-1], ints()], outputs, stored, **attributes)
    for shape in [(), (0,), (2, 0, 3), (1, 2, 3), (1, 1, 1, 1), (0, 0, 0, 0), (1,) * 7]:
        given = [*inputs[:-1], ints(*shape)]
        if len(shape) > 3:
            with pytest.raises(REFUSED, match="ids must have at most 3 axes"):
                run(name, given, outputs, stored, **attributes)
        else:
            [found] = run(name, given, outputs, stored, **attributes)
            np.testing.assert_array_equal(found, np.broadcast_to(of_one, (*shape, len(of_one))))
        for wrong in EXTREMES[:3] + EXTREMES[-2:]:
            given = [*inputs[:-1], np.full_like(ints(*shape), wrong)]
            if len(shape) <= 3 and given[-1].size:
                with pytest.raises(REFUSED, match=f"ids must be from 0 to .*, got {wrong}"):
                    run(name, given, outputs, stored, **attributes)


def test_sums_of_a_hostile_graph_wrap_round(run: Run) -> None:
    inputs, outputs, stored, attributes = OPERATORS["BestToken"]
    most = [np.full_like(one, 2**31 - 1) if one.dtype == np.int32 else one for one in inputs]
    assert any(one is not given for one, given in zip(most, inputs, strict=True))
    [ids] = run("BestToken", most, outputs, stored, **attributes)
    assert ((ids >= 0) & (ids < VOCABULARY)).all()
