"""A record of a model's training lines, their lengths, sentences and symbols, by which translators
know later what the model can read. Needs no TensorFlow.
"""

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from keras_transformer.text.letterless import KINDS, Kind, kinds_in
from keras_transformer.text.sentences import split_sentences

# More lines would change no decision, but take minutes on a large corpus.
SAMPLED_LINES = 100_000
# A model knows what one line in this many held; fewer are chance, or slips of the splitter.
_RARE = 100
# Fewer may be an acronym.
FEWEST_CAPITALS = 5


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingText:
    """Lengths and sentences of the source lines that a model was trained on.

    Args:
        longest_source: Tokens of the longest line, without eos.
        sentences: How many lines held one sentence, two, and so on, of those that were looked at.
        letterless: How many of them held each kind of what has no letter (`letterless`); None if
            an earlier version looked at them.
        markup: The profile by which spans were replaced by slots; None if none were.
        span_patterns: Regular expressions of further spans.
        capitals: How many of the lines that were looked at were in capitals; None if an earlier
            version looked at them.
        soft_terms: The share of pairs drawn to have translations beside terms of their sources.

    Raises:
        ValueError: A number is out of range.
    """

    longest_source: int
    sentences: tuple[int, ...]
    letterless: Mapping[Kind, int] | None = None
    markup: str | None = None
    span_patterns: tuple[str, ...] = ()
    capitals: int | None = None
    soft_terms: float = 0.0

    def __post_init__(self) -> None:
        if self.longest_source < 1:
            raise ValueError(f"longest_source must be at least 1, got {self.longest_source}.")
        if not any(self.sentences) or min(self.sentences) < 0:
            raise ValueError(f"sentences must be counts of lines, got {self.sentences}.")
        counts, most = self.letterless or {}, sum(self.sentences)
        if set(counts) - set(KINDS) or not all(0 <= one <= most for one in counts.values()):
            raise ValueError(
                f"letterless must be counts of lines of the kinds {', '.join(KINDS)}, got "
                f"{dict(counts)}."
            )
        if not 0 <= (self.capitals or 0) <= most:
            raise ValueError(f"capitals must be a count of lines, got {self.capitals}.")

    @classmethod
    def from_lines(cls, lines: Sequence[str], longest_source: int) -> "TrainingText":
        """Counts the sentences of the lines, or of an even sample if there are very many."""
        step = -(-len(lines) // SAMPLED_LINES)
        looked_at = lines[::step]
        found = Counter(len(split_sentences(line)) for line in looked_at)
        kinds = Counter(kind for line in looked_at for kind in kinds_in(line))
        counts = tuple(found[count] for count in range(1, max(found) + 1))
        letterless = {kind: kinds[kind] for kind in KINDS}
        return cls(
            longest_source=longest_source,
            sentences=counts,
            letterless=letterless,
            capitals=sum(map(in_capitals, looked_at)),
        )

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "TrainingText":
        """Reads what `dataclasses.asdict` made, or JSON made of that.

        Raises:
            KeyError: A field is missing.
            ValueError: As for the constructor.
        """
        return cls(
            longest_source=int(values["longest_source"]),
            sentences=tuple(map(int, values["sentences"])),
            letterless=_counts(values.get("letterless")),
            markup=values.get("markup"),
            span_patterns=tuple(values.get("span_patterns", ())),
            capitals=values.get("capitals"),
            soft_terms=float(values.get("soft_terms", 0.0)),
        )

    @property
    def known_sentences(self) -> int:
        """Most sentences that at least one line in a hundred held."""
        lines, behind = sum(self.sentences), sum(self.sentences)
        for count, found in enumerate(self.sentences, start=1):
            behind -= found
            if behind * _RARE < lines:
                return count
        return len(self.sentences)

    @property
    def known_letterless(self) -> frozenset[Kind] | None:
        """Kinds of what has no letter that at least one line in a hundred held; None if unknown."""
        if self.letterless is None:
            return None
        lines = sum(self.sentences)
        return frozenset(kind for kind, one in self.letterless.items() if one * _RARE >= lines)

    @property
    def knows_capitals(self) -> bool | None:
        """Whether at least one line in a hundred was in capitals; None if unknown."""
        return None if self.capitals is None else self.capitals * _RARE >= sum(self.sentences)


def in_capitals(text: str) -> bool:
    """Returns whether a text is written in capitals, more of them than an acronym has."""
    return text.isupper() and sum(map(str.isupper, text)) >= FEWEST_CAPITALS


def _counts(values: Mapping[Any, Any] | None) -> dict[Kind, int] | None:
    return None if values is None else {kind: int(count) for kind, count in values.items()}
