"""Parallel text in memory: the type that every data source returns and the pipeline reads.

Sentences are strings, aligned by position; nothing here tokenizes or needs TensorFlow.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Pairs:
    """Aligned sentences: `target[i]` is the translation of `source[i]`.

    Lists are stored as tuples, so that a value of this class never changes.

    Attributes:
        source: The sentences to translate; at least one.
        target: Their translations; as many as `source`.
        origin: Where the sentences come from, for messages ("demo, seed 0", a file name).
        notes: What their reader recognised, such as a header, in lines to show.

    Raises:
        TypeError: `source` or `target` is a single string or holds something other than strings.
        ValueError: The two sides differ in count, or are empty.

    Example:
        >>> pairs = Pairs(["a dog", "a cat"], ["un perro", "un gato"], origin="example")
        >>> len(pairs), pairs.target[1]
        (2, 'un gato')
    """

    source: Sequence[str]
    target: Sequence[str]
    origin: str
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for side in ("source", "target"):
            object.__setattr__(self, side, _checked_sentences(side, getattr(self, side)))
        if len(self.source) != len(self.target):
            raise ValueError(
                f"Pairs from {self.origin}: source and target must hold the same number of "
                f"sentences, got {len(self.source)} and {len(self.target)}. Align them first."
            )
        if not self.source:
            raise ValueError(f"Pairs from {self.origin}: expected at least one pair, got none.")

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.source)

    def joined(self, other: "Pairs") -> "Pairs":
        """Returns these pairs, then others."""
        return Pairs(
            [*self.source, *other.source],
            [*self.target, *other.target],
            f"{self.origin}, and {len(other)} pairs of {other.origin}",
            self.notes + other.notes,
        )


@dataclass(frozen=True)
class Corpus:
    """A data set as a training run needs it.

    Attributes:
        train: The pairs to train on.
        valid: The pairs to validate on during training, or None.
        test: The pairs to evaluate on at the end, or None.

    Raises:
        TypeError: A split is not a `Pairs` (or, for `valid` and `test`, None).

    Example:
        >>> corpus = Corpus(train=Pairs(["yes"], ["sí"], origin="example"))
        >>> len(corpus.train), corpus.test is None
        (1, True)
    """

    train: Pairs
    valid: Pairs | None = None
    test: Pairs | None = None

    def __post_init__(self) -> None:
        for split in fields(self):
            value = getattr(self, split.name)
            if not isinstance(value, Pairs) and (value is not None or split.name == "train"):
                raise TypeError(
                    f"Corpus.{split.name} must be a Pairs object, got {type(value).__name__}. "
                    "Wrap aligned sentences in Pairs(source, target, origin)."
                )


def _checked_sentences(side: str, sentences: Sequence[str]) -> tuple[str, ...]:
    if isinstance(sentences, str):
        raise TypeError(
            f"Pairs.{side} must be a sequence of sentences, got one string: {sentences[:40]!r}. "
            "Put it into a list."
        )
    checked = tuple(sentences)
    for position, sentence in enumerate(checked):
        if not isinstance(sentence, str):
            raise TypeError(
                f"Pairs.{side}[{position}] must be a string, got {type(sentence).__name__}. "
                "Decode bytes as UTF-8 first."
            )
    return checked
