"""What a caller may ask of a search and what it gets back; needs neither Keras nor TensorFlow."""

import dataclasses
import math


@dataclasses.dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Options of greedy and beam search.

    Args:
        beam_size: Hypotheses kept at each step; 1 is greedy search.
        length_penalty: Exponent α of the length penalty (Wu et al. 2016, equation 14), at
            least 0; 0 compares plain log-probabilities.
        num_hypotheses: Translations returned for each sentence, at most `beam_size`.
        max_length: Longest translation in tokens, the end token included.

    Raises:
        ValueError: A value is out of range.
        TypeError: A count is no integer.
    """

    beam_size: int = 1
    length_penalty: float = 0.6
    num_hypotheses: int = 1
    max_length: int = 256

    def __post_init__(self) -> None:
        for name in ("beam_size", "num_hypotheses", "max_length"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"{name} must be an integer, got {value!r}.")
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}.")
        if self.num_hypotheses > self.beam_size:
            raise ValueError(
                f"num_hypotheses ({self.num_hypotheses}) is more than beam_size "
                f"({self.beam_size}): raise beam_size or ask for fewer."
            )
        penalty = self.length_penalty
        if isinstance(penalty, bool) or not isinstance(penalty, int | float):
            raise TypeError(f"length_penalty must be a number, got {penalty!r}.")
        if not (math.isfinite(penalty) and penalty >= 0):
            raise ValueError(f"length_penalty must be finite and at least 0, got {penalty}.")


@dataclasses.dataclass(frozen=True)
class Hypothesis:
    """One translation of a sentence.

    Attributes:
        text: The translation.
        ids: Its token ids, without begin and end tokens.
        score: `log_probability` over the length penalty; higher is better.
        log_probability: Sum of the tokens' log-probabilities in nats, the end token's included.
    """

    text: str
    ids: list[int]
    score: float
    log_probability: float
