"""Scaled rotary positions: angles by the papers' formulas in float64, and what is refused."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from keras_transformer.config import BlockOptions, RotaryConfig, RotaryScalingConfig

WIDTH, BASE = 16, 10_000.0
PLAIN = BASE ** (-np.arange(0, WIDTH, 2) / WIDTH)
LLAMA3: dict[str, Any] = {"kind": "llama3", "factor": 8.0, "original_length": 64}
YARN: dict[str, Any] = {"kind": "yarn", "factor": 4.0, "original_length": 256}
LONG: dict[str, Any] = {
    "kind": "longrope",
    "original_length": 32,
    "short_factors": np.linspace(1, 2, 8).tolist(),
    "long_factors": np.linspace(3, 9, 8).tolist(),
}


def rates(**scaling: Any) -> np.ndarray:
    config = RotaryConfig(base=BASE, scaling=RotaryScalingConfig(**scaling))
    return np.array(config.rates(WIDTH))


def test_linear_divides_all_angles() -> None:
    np.testing.assert_allclose(rates(kind="linear", factor=2.5), PLAIN / 2.5, rtol=1e-12)


@pytest.mark.parametrize(("length", "ratio"), [(None, 1.0), (64, 1.0), (50, 1.0), (256, 4.0)])
def test_dynamic_raises_the_base_for_longer_texts(length: int | None, ratio: float) -> None:
    base = BASE * (2.0 * ratio - 1.0) ** (WIDTH / (WIDTH - 2))
    found = rates(kind="dynamic", factor=2.0, original_length=64, length=length)
    np.testing.assert_allclose(found, base ** (-np.arange(0, WIDTH, 2) / WIDTH), rtol=1e-12)


def test_llama3_divides_long_wavelengths() -> None:
    expected = []
    for rate in PLAIN:
        wavelength = 2 * math.pi / rate
        if wavelength < 64 / 4.0:
            expected.append(rate)
        elif wavelength > 64 / 1.0:
            expected.append(rate / 8.0)
        else:
            smooth = (64 / wavelength - 1.0) / (4.0 - 1.0)
            expected.append((1 - smooth) * rate / 8.0 + smooth * rate)
    np.testing.assert_allclose(rates(**LLAMA3), expected, rtol=1e-12)
    assert len({*np.round(rates(**LLAMA3) / PLAIN, 6)}) > 2


@pytest.mark.parametrize("whole", [True, False])
def test_yarn_divides_pairs_that_turn_rarely(whole: bool) -> None:
    """Peng et al. 2023, section 3.2, of whose pairs the bounds are found by equation 17."""

    def pair_of(turns: float) -> float:
        return WIDTH * math.log(256 / (turns * 2 * math.pi)) / (2 * math.log(BASE))

    low, high = pair_of(32.0), pair_of(1.0)
    if whole:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, WIDTH - 1)
    ramp = np.clip((np.arange(WIDTH // 2) - low) / (high - low), 0, 1)
    expected = PLAIN / 4.0 * ramp + PLAIN * (1 - ramp)
    np.testing.assert_allclose(rates(**YARN, whole_pairs=whole), expected, rtol=1e-12)


@pytest.mark.parametrize(("length", "name"), [(None, "short"), (32, "short"), (33, "long")])
def test_longrope_divides_each_pair_by_its_number(length: int | None, name: str) -> None:
    expected = PLAIN / LONG[f"{name}_factors"]
    np.testing.assert_allclose(rates(**LONG, length=length), expected, rtol=1e-12)


def test_features_beyond_the_width_are_left_alone() -> None:
    scaling = RotaryScalingConfig(kind="yarn", factor=2.0, original_length=8, magnitude=1.5)
    rotary = RotaryConfig(base=BASE, width=4, scaling=scaling)
    assert rotary.rates(10)[2:] == [0.0] * 3
    assert rotary.magnitudes(10) == [1.5, 1.5, 1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "yarm"}, "rotary_scaling's kind must be one of .* got 'yarm'"),
        ({"factor": None}, "rotary_scaling 'yarn' needs factor, got none"),
        ({"factor": -1.0}, "rotary_scaling's factor must be positive and finite, got -1.0"),
        ({"magnitude": float("nan")}, "magnitude must be positive and finite, got nan"),
        ({"original_length": 1}, "rotary_scaling's original_length must be at least 2, got 1"),
        ({"length": 9}, "rotary_scaling 'yarn' does not read length=9"),
        ({"slow_turns": 40.0}, r"slow_turns \(40.0\) must be less than fast_turns \(32.0\)"),
    ],
    ids=str,
)
def test_what_scales_nothing_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RotaryScalingConfig(**{**YARN, **changes})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rotary_width": 3}, "rotary_width must be even, got 3"),
        ({"rotary_width": 34}, r"rotary_width must be at most key_dim \(32\), got 34"),
        ({"rotary_scaling": LONG}, "short_factors must be 16 numbers, one for each pair, got 8"),
        ({"rotary_scaling": {"factor": 2.0}}, "rotary_scaling needs a kind"),
        ({"rotary_scaling": {**YARN, "factors": 2}}, "a field of rotary_scaling must be one of"),
    ],
    ids=str,
)
def test_what_does_not_fit_a_head_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BlockOptions(model_dim=64, num_heads=2, rotary_base=BASE, **options)


def test_a_config_is_the_one_that_its_file_gives() -> None:
    given = {**LONG, "long_factors": tuple(LONG["long_factors"])}
    options = BlockOptions(model_dim=32, num_heads=2, rotary_base=BASE, rotary_scaling=given)
    assert options.rotary_scaling == LONG
    assert BlockOptions(**options.to_dict()) == options
    plain = dataclasses.replace(options, rotary_scaling=None)
    assert plain.block().own.rotary == RotaryConfig(base=BASE)
