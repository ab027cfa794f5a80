"""Single texts in memory, plain (`Texts`) or labelled (`LabelledTexts`); nothing here tokenizes or
needs TensorFlow.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from keras_transformer.data.sources.files import (
    PathLike,
    as_paths,
    iter_lines,
    require_files,
    text_name,
)


@dataclass(frozen=True)
class Texts:
    """Texts, one a line.

    Attributes:
        lines: The texts; empty ones may end a document.
        origin: Where they come from, for messages.

    Raises:
        TypeError: `lines` is one string.
        ValueError: No line holds text.

    Example:
        >>> len(Texts(["a dog", "a cat"], origin="example"))
        2
    """

    lines: Sequence[str]
    origin: str

    def __post_init__(self) -> None:
        if isinstance(self.lines, str):
            raise TypeError(
                f"Texts.lines must be a sequence of texts, got one string: {self.lines[:40]!r}. "
                "Put it into a list."
            )
        object.__setattr__(self, "lines", tuple(self.lines))
        if not any(line.strip() for line in self.lines):
            raise ValueError(f"the corpus is empty: no text in {self.origin}")

    @property
    def num_documents(self) -> int:
        """Number of documents, which empty lines separate."""
        has_text = [bool(line.strip()) for line in self.lines]
        begins = zip(has_text, [False, *has_text], strict=False)
        return sum(now and not before for now, before in begins)

    def __len__(self) -> int:
        """Returns the number of lines."""
        return len(self.lines)


@dataclass(frozen=True)
class LabelledTexts:
    """Texts, or pairs of texts, each with a label.

    Attributes:
        labels: The label of each.
        first: The texts, or the first of each pair.
        second: The second of each pair; None for single texts.
        origin: Where they come from, for messages.
        notes: What their reader recognised, such as a header, in lines to show.
        multi_label: Whether each label is any number of names with commas between them; none for a
            text that has no label.
        files: For each file its name and the line of each of its texts, in order, for messages.

    A text without words and without a label stands for a blank line: it has no class, and training
    drops and counts it.

    Raises:
        ValueError: The parts differ in length, or are empty.

    Example:
        >>> LabelledTexts(["pet", "food"], ["a dog", "a pie"], None, origin="example").classes
        ('food', 'pet')
    """

    labels: Sequence[str]
    first: Sequence[str]
    second: Sequence[str] | None
    origin: str
    notes: tuple[str, ...] = ()
    multi_label: bool = False
    files: Sequence[tuple[str, Sequence[int]]] = ()

    def __post_init__(self) -> None:
        counts = {len(part) for part in (self.labels, self.first, self.second) if part is not None}
        if len(counts) != 1:
            raise ValueError(
                f"labels and texts of {self.origin} must be equally many, got "
                f"{' and '.join(map(str, sorted(counts)))}"
            )
        if not any(self.labels) and not any(self.first):
            raise ValueError(f"the corpus is empty: no line in {self.origin}")

    @property
    def classes(self) -> tuple[str, ...]:
        """The different labels, sorted."""
        return tuple(sorted(self.label_counts))

    @property
    def label_counts(self) -> dict[str, int]:
        """How many texts have each label."""
        named = (self.names_of(place) for place in self.filled)
        return dict(Counter(label for names in named for label in names))

    def names_of(self, place: int) -> tuple[str, ...]:
        """Returns the different labels of the text at a place, from 0: one, or any number."""
        return names_in(self.labels[place]) if self.multi_label else (self.labels[place],)

    def check_labels(self, known: Collection[str], owner: str) -> None:
        """Raises `ValueError` that names all labels which the owner lacks, by file and line.

        Args:
            known: The labels of the owner.
            owner: Whose they are, such as "the classifier's".
        """
        found = ((label, place) for place in self.filled for label in self.names_of(place))
        refuse_unknown(found, known, owner, self.name_of)

    def name_of(self, place: int) -> str:
        """Returns what messages call the text at a place, from 0: its file and line, if known."""
        return text_name(place, self.files, self.origin)

    @property
    def filled(self) -> tuple[int, ...]:
        """The places, from 0, of all that do not stand for a blank line."""
        pairs = enumerate(zip(self.labels, self.first, strict=True))
        return tuple(place for place, (label, text) in pairs if label or text)

    def without_blank_lines(self) -> "LabelledTexts":
        """Returns all that do not stand for a blank line."""
        parts = (self.labels, self.first, self.second)
        labels, first, second = (part and [part[place] for place in self.filled] for part in parts)
        return replace(self, labels=labels or [], first=first or [], second=second, files=())

    def __len__(self) -> int:
        """Returns the number of texts or pairs, blank lines included."""
        return len(self.labels)


@dataclass(frozen=True)
class TextCorpus:
    """A corpus of plain texts: texts to train on and, optionally, to validate on.

    Raises:
        TypeError: `train` or `valid` is not a `Texts`.
    """

    train: Texts
    valid: Texts | None = None

    def __post_init__(self) -> None:
        for name, texts in (("train", self.train), ("valid", self.valid)):
            if not isinstance(texts, Texts) and (texts is not None or name == "train"):
                raise TypeError(
                    f"TextCorpus.{name} must be a Texts object, got {type(texts).__name__}. Wrap a "
                    "list of texts in Texts(lines, origin), or read files with read_texts."
                )


@dataclass(frozen=True)
class LabelledCorpus:
    """The corpus of a classifier.

    Attributes:
        train: Texts to train on, of two or more classes.
        valid: Texts to validate on, or None.

    Raises:
        ValueError: `train` has one class only, `valid` has a label that `train` lacks, or one has
            pairs and the other has not.
    """

    train: LabelledTexts
    valid: LabelledTexts | None = None

    def __post_init__(self) -> None:
        classes = self.train.classes
        is_multi = self.train.multi_label
        if is_multi and not classes:
            raise ValueError(f"no text of {self.train.origin} has a label")
        if len(classes) < 2 and not is_multi:
            raise ValueError(
                f"a classifier needs two or more labels, and {self.train.origin} has only "
                f"{classes[0]!r}"
            )
        if self.valid is None:
            return
        if self.valid.multi_label != is_multi:
            raise ValueError(
                f"{self.train.origin} and {self.valid.origin} must both have multi_label={is_multi}"
            )
        self.valid.check_labels(classes, "those of the training texts")
        if (self.train.second is None) != (self.valid.second is None):
            raise ValueError(
                f"{self.train.origin} and {self.valid.origin} must both hold single texts or both "
                "hold pairs"
            )


@dataclass(frozen=True)
class ScoredCorpus:
    """The corpus of a reranker.

    Attributes:
        train: Pairs to train on; each label is a score, how well the text fits the query.
        valid: Pairs to validate on, or None.

    Raises:
        ValueError: A label is no number from 0 to 1, or there are single texts.

    Example:
        >>> ScoredCorpus(LabelledTexts(["1"], ["red"], ["a red shirt"], "example")).scores("train")
        [1.0]
    """

    train: LabelledTexts
    valid: LabelledTexts | None = None

    def __post_init__(self) -> None:
        for name in ("train", "valid"):
            if getattr(self, name) is not None:
                self.scores(name)

    def scores(self, name: str) -> list[float]:
        """Returns the scores of "train" or "valid", but for blank lines."""
        texts: LabelledTexts = getattr(self, name)
        if texts.second is None:
            raise ValueError(
                f"{texts.origin} holds single texts, and a reranker learns from pairs: write "
                "score, query and text."
            )
        found = [(place, _score_of(texts.labels[place])) for place in texts.filled]
        wrong = [(texts.labels[place], place) for place, score in found if score is None]
        if wrong:
            named = _listed_with_places(wrong, texts.name_of)
            raise ValueError(f"a score must be a number from 0 to 1, got {named}")
        return [score for _, score in found if score is not None]


def read_texts(paths: PathLike | Sequence[PathLike]) -> Texts:
    """Reads plain text, one text a line.

    Args:
        paths: One path, or several in order; UTF-8, plain or gzip.

    Raises:
        FileNotFoundError: A file is missing; all are checked before any is read.
        OSError: A file cannot be read.
        ValueError: Broken text (names file and line), or no text at all.
    """
    files = as_paths(paths)
    require_files(files)
    lines = [line for path in files for line in iter_lines(path)]
    return Texts(lines, ", ".join(map(str, files)))


def names_in(label: str) -> tuple[str, ...]:
    """Returns the different names that commas separate in a label, in order.

    Example:
        >>> names_in("joy, love,joy"), names_in("")
        (('joy', 'love'), ())
    """
    return tuple(dict.fromkeys(name for one in label.split(",") if (name := one.strip())))


def refuse_unknown(
    found: Iterable[tuple[str, int]],
    known: Collection[str],
    owner: str,
    name_of: Callable[[int], str],
    kind: str = "label",
) -> None:
    """Raises `ValueError` that names all labels which their owner lacks.

    Args:
        found: Each label of each text, and the text's place, in order.
        known: The labels of the owner.
        owner: Whose they are, such as "the classifier's".
        name_of: Returns what messages call the text at a place.
        kind: What labels are called.
    """
    unknown = [(label, place) for label, place in found if label not in known]
    count = len({label for label, _ in unknown})
    if unknown:
        are = f"the {kind} is" if count == 1 else f"{count:,} {kind}s are"
        named = _listed_with_places(unknown, name_of)
        raise ValueError(f"{are} not among {owner}, {_listed(known)}: {named}")


def _listed_with_places(found: Iterable[tuple[str, int]], name_of: Callable[[int], str]) -> str:
    """Returns labels, each with how many texts have it and the first of them."""
    places: dict[str, list[int]] = {}
    for label, place in found:
        places.setdefault(label, []).append(place)
    named = []
    for label, texts in places.items():
        count = len({*texts})
        several = f"{count:,} texts, the first " * (count > 1)
        named.append(f"{label!r} ({several}{name_of(texts[0])})")
    return _listed(named, str)


def _listed(labels: Collection[str], shown: Callable[[str], str] = repr, most: int = 10) -> str:
    more = f" and {len(labels) - most:,} more" * (len(labels) > most)
    return ", ".join(map(shown, islice(labels, most))) + more


def _score_of(label: str) -> float | None:
    """Returns the score that a label spells; None if it is no number from 0 to 1."""
    try:
        score = float(label)
    except ValueError:
        return None
    return score if 0 <= score <= 1 else None
