"""Rotary positions (Su et al. 2021), and the ways to scale them for texts that are longer than
those a model was trained with.
"""

import dataclasses
import math
from collections.abc import Iterator
from typing import Any, Literal, get_args

from keras_transformer.config.checks import (
    check_choice,
    check_flag,
    check_number,
    check_size,
    make_numbers_plain,
)

RotaryScalingKind = Literal["linear", "dynamic", "llama3", "yarn", "longrope"]
# The fields that a kind needs, and those that it may have.
_NEEDS: dict[str, tuple[str, ...]] = {
    "linear": ("factor",),
    "dynamic": ("factor", "original_length"),
    "llama3": ("factor", "original_length"),
    "yarn": ("factor", "original_length"),
    "longrope": ("original_length", "short_factors", "long_factors"),
}
_READS: dict[str, tuple[str, ...]] = {
    "linear": (),
    "dynamic": ("length",),
    "llama3": ("low_frequency_factor", "high_frequency_factor"),
    "yarn": ("fast_turns", "slow_turns", "whole_pairs", "magnitude"),
    "longrope": ("length", "magnitude"),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class RotaryScalingConfig:
    """A change of the angles of rotary positions; what other kinds read must have its default.

    Args:
        kind: "linear" divides all angles by `factor` (Chen et al. 2023); "dynamic" raises the base
            for texts longer than `original_length` (NTK-aware scaling); "llama3" divides the angles
            of long wavelengths alone (Llama 3.1, Grattafiori et al. 2024); "yarn" those of pairs
            that turn rarely (Peng et al. 2023); "longrope" by a number for each pair (Ding et al.
            2024).
        factor: How many times longer than `original_length` texts may become.
        original_length: Tokens of the texts that the model was trained with.
        length: Tokens of the texts that are read, by which "dynamic" and "longrope" choose once;
            `original_length` if None.
        low_frequency_factor: Wavelengths above `original_length` / this are divided by `factor`.
        high_frequency_factor: Wavelengths below `original_length` / this stay as they are.
        fast_turns: Pairs that turn more often within `original_length` stay as they are.
        slow_turns: Pairs that turn less often are divided by `factor`.
        whole_pairs: Whether the bounds between them are rounded to whole pairs.
        short_factors: What the angle of each pair is divided by up to `original_length`.
        long_factors: The same of longer texts.
        magnitude: What turned queries and keys are multiplied by.
    """

    kind: RotaryScalingKind
    factor: float | None = None
    original_length: int | None = None
    length: int | None = None
    low_frequency_factor: float = 1.0
    high_frequency_factor: float = 4.0
    fast_turns: float = 32.0
    slow_turns: float = 1.0
    whole_pairs: bool = True
    short_factors: tuple[float, ...] = ()
    long_factors: tuple[float, ...] = ()
    magnitude: float = 1.0

    def __post_init__(self) -> None:
        make_numbers_plain(self)
        check_choice("rotary_scaling's kind", self.kind, get_args(RotaryScalingKind))
        for name in ("short_factors", "long_factors"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for name, value in self.given():
            if name not in ("kind", *_NEEDS[self.kind], *_READS[self.kind]):
                raise ValueError(f"rotary_scaling {self.kind!r} does not read {name}={value!r}.")
        for name in _NEEDS[self.kind]:
            if not getattr(self, name):
                raise ValueError(f"rotary_scaling {self.kind!r} needs {name}, got none.")
        for name in ("original_length", "length"):
            if getattr(self, name) is not None:
                check_size(f"rotary_scaling's {name}", getattr(self, name), least=2)
        check_flag("rotary_scaling's whole_pairs", self.whole_pairs)
        for name, value in self._numbers():
            check_number(f"rotary_scaling's {name}", value)
            if not 0 < value < math.inf:
                raise ValueError(
                    f"rotary_scaling's {name} must be positive and finite, got {value}."
                )
        for low, high in (
            ("low_frequency_factor", "high_frequency_factor"),
            ("slow_turns", "fast_turns"),
        ):
            if getattr(self, low) >= getattr(self, high):
                raise ValueError(
                    f"rotary_scaling's {low} ({getattr(self, low)}) must be less than {high} "
                    f"({getattr(self, high)})."
                )

    def _numbers(self) -> Iterator[tuple[str, Any]]:
        names = ("low_frequency_factor", "high_frequency_factor", "fast_turns", "slow_turns")
        yield from ((name, getattr(self, name)) for name in (*names, "magnitude"))
        if self.factor is not None:
            yield "factor", self.factor
        for name in ("short_factors", "long_factors"):
            yield from ((name, value) for value in getattr(self, name))

    def given(self) -> Iterator[tuple[str, Any]]:
        """Yields the names and values of the fields that differ from their defaults."""
        for field in dataclasses.fields(self):
            if getattr(self, field.name) != field.default:
                yield field.name, getattr(self, field.name)

    def to_dict(self) -> dict[str, Any]:
        """Returns what was given as plain JSON values."""
        return {
            name: list(value) if isinstance(value, tuple) else value for name, value in self.given()
        }

    @property
    def is_long(self) -> bool:
        """Whether texts are longer than those that the model was trained with."""
        return (self.length or 0) > (self.original_length or 0)

    def base_of(self, base: float, width: int) -> float:
        """Returns the base of angles of which `width` features of a head are turned."""
        if self.kind != "dynamic" or not self.is_long or width <= 2:
            return base
        factor, ratio = self.factor or 1.0, (self.length or 1) / (self.original_length or 1)
        return float(base * (factor * ratio - (factor - 1)) ** (width / (width - 2)))

    def divisors(self, base: float, rates: list[float]) -> list[float]:
        """Returns what the angle of each pair is divided by.

        Args:
            base: The base of the angles.
            rates: The angle of each pair at place 1, in radians.
        """
        if self.kind == "longrope":
            return list(self.long_factors if self.is_long else self.short_factors)
        if self.kind == "linear":
            return [self.factor or 1.0] * len(rates)
        if self.kind == "dynamic":
            return [1.0] * len(rates)
        shares = self._by_wavelength(rates) if self.kind == "llama3" else self._by_pair(base, rates)
        factor = self.factor or 1.0
        return [1 / (share + (1 - share) / factor) for share in shares]

    def _by_wavelength(self, rates: list[float]) -> list[float]:
        """Returns the share of each angle that stays as it is: 1 of the shortest wavelengths."""
        low, high = self.low_frequency_factor, self.high_frequency_factor
        turns = [(self.original_length or 1) * rate / (2 * math.pi) for rate in rates]
        return [min(max((one - low) / (high - low), 0.0), 1.0) for one in turns]

    def _by_pair(self, base: float, rates: list[float]) -> list[float]:
        """Returns the share of each angle that stays as it is: 1 of the first pairs."""
        width = 2 * len(rates)
        first, last = (
            width
            * math.log((self.original_length or 1) / (turns * 2 * math.pi))
            / 2
            / math.log(base)
            for turns in (self.fast_turns, self.slow_turns)
        )
        if self.whole_pairs:
            first, last = math.floor(first), math.ceil(last)
        first, last = max(first, 0), min(last, width - 1)
        room = last - first or 0.001
        return [1 - min(max((pair - first) / room, 0.0), 1.0) for pair in range(len(rates))]


@dataclasses.dataclass(frozen=True, kw_only=True)
class RotaryConfig:
    """Rotary positions (Su et al. 2021).

    Args:
        base: The wavelengths lie between 2π and 2π · base places.
        width: Features of a head that are turned, an even number: the first `width / 2` of either
            half, which pairs join; None for all.
        scaling: How angles are changed for longer texts.
    """

    base: float = 10_000.0
    width: int | None = None
    scaling: RotaryScalingConfig | None = None

    def __post_init__(self) -> None:
        make_numbers_plain(self)
        check_number("rotary_base", self.base)
        if not 1 < self.base < math.inf:
            raise ValueError(f"rotary_base must be above 1 and finite, got {self.base}.")
        if self.width is not None:
            check_size("rotary_width", self.width, least=2)
            if self.width % 2:
                raise ValueError(f"rotary_width must be even, got {self.width}.")

    def check(self, key_dim: int) -> None:
        """Raises a `ValueError` unless heads of this width can be turned."""
        if key_dim % 2:
            raise ValueError(f"rotary_base needs an even key_dim, got key_dim={key_dim}.")
        width = self.width or key_dim
        if width > key_dim:
            raise ValueError(f"rotary_width must be at most key_dim ({key_dim}), got {width}.")
        scaling = self.scaling
        if scaling is None or scaling.kind != "longrope":
            return
        for name in ("short_factors", "long_factors"):
            if len(getattr(scaling, name)) != width // 2:
                raise ValueError(
                    f"rotary_scaling's {name} must be {width // 2} numbers, one for each pair, got "
                    f"{len(getattr(scaling, name))}."
                )

    def rates(self, key_dim: int) -> list[float]:
        """Returns the angle of each pair of a head's features at place 1, in radians."""
        width = self.width or key_dim
        scaling = self.scaling
        base = self.base if scaling is None else scaling.base_of(self.base, width)
        rates = [base ** (-2 * pair / width) for pair in range(width // 2)]
        if scaling is not None:
            divisors = scaling.divisors(base, rates)
            rates = [rate / by for rate, by in zip(rates, divisors, strict=True)]
        return rates + [0.0] * ((key_dim - width) // 2)

    def magnitudes(self, key_dim: int) -> list[float]:
        """Returns what each pair of features is multiplied by when it is turned."""
        pairs = (self.width or key_dim) // 2
        turned = 1.0 if self.scaling is None else self.scaling.magnitude
        return [turned] * pairs + [1.0] * (key_dim // 2 - pairs)
