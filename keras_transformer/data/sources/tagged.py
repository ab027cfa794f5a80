"""Tagged texts in memory, from lines of `word/TAG`."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain

from keras_transformer.data.sources.files import (
    PathLike,
    WrongLines,
    as_paths,
    iter_lines,
    require_files,
    text_name,
)
from keras_transformer.data.sources.texts import refuse_unknown
from keras_transformer.understanding.tag_schemes import TagScheme

# Misplaced tags that a note names one by one.
_NAMED = 3


@dataclass(frozen=True)
class TaggedTexts:
    """Texts as words, each with a tag.

    Attributes:
        words: The words of each text.
        tags: As many tags.
        origin: Where they come from, for messages.
        files: For each file its name and the line of each of its texts, in order.

    Raises:
        ValueError: A text has not as many tags as words, or there is no word.

    Example:
        >>> TaggedTexts([["a", "dog"]], [["DET", "NOUN"]], origin="example").classes
        ('DET', 'NOUN')
    """

    words: Sequence[Sequence[str]]
    tags: Sequence[Sequence[str]]
    origin: str
    files: Sequence[tuple[str, Sequence[int]]] = ()

    def __post_init__(self) -> None:
        if not any(map(len, self.words)):
            raise ValueError(f"the corpus is empty: no word in {self.origin}")
        counts = ([len(row) for row in side] for side in (self.words, self.tags))
        if next(counts) != next(counts):
            raise ValueError(f"the texts of {self.origin} must have a tag for every word")

    @property
    def classes(self) -> tuple[str, ...]:
        """The different tags, sorted."""
        return tuple(sorted(self.label_counts))

    @property
    def label_counts(self) -> dict[str, int]:
        """How many words have each tag."""
        return dict(Counter(chain.from_iterable(self.tags)))

    def check_tags(self, known: Collection[str], owner: str) -> None:
        """Raises `ValueError` that names all tags which the owner lacks, by file and line.

        Args:
            known: The tags of the owner.
            owner: Whose they are, such as "the tagger's".
        """
        found = ((tag, text) for text, tags in enumerate(self.tags) for tag in tags)
        refuse_unknown(found, known, owner, self._name_of, "tag")

    def _name_of(self, text: int) -> str:
        return text_name(text, self.files, self.origin)

    def __len__(self) -> int:
        """Returns the number of texts."""
        return len(self.words)

    @property
    def notes(self) -> tuple[str, ...]:
        """What training says of the tags: the scheme that they follow, and which of them do not."""
        scheme = TagScheme.of(self.classes)
        if scheme is None:
            return ()
        found = [(text, at) for text, row in enumerate(self.tags) for at in scheme.misplaced(row)]
        named = [self._misplaced(text, at) for text, at in found[:_NAMED]]
        if len(found) > _NAMED:
            named.append(f"{len(found) - _NAMED:,} more")
        total = sum(map(len, self.tags))
        but = f", but for {len(found):,} of {total:,}: {'; '.join(named)}" if found else ""
        return (f"{self.origin}: the tags follow {scheme.name}{but}",)

    def _misplaced(self, text: int, place: int) -> str:
        """Returns where a tag is, and what it cannot follow."""
        pairs = zip(self.words[text], self.tags[text], strict=True)
        spelled = ["nothing", *(f"{word}/{tag}" for word, tag in pairs), "the end"]
        return f"{text_name(text, self.files)}, {spelled[place + 1]} behind {spelled[place]}"


@dataclass(frozen=True)
class TaggedCorpus:
    """The corpus of a tagger.

    Attributes:
        train: Texts to train on, with two or more tags.
        valid: Texts to validate on, or None.

    Raises:
        ValueError: `train` has one tag only, or `valid` has a tag that `train` lacks.
    """

    train: TaggedTexts
    valid: TaggedTexts | None = None

    def __post_init__(self) -> None:
        classes = self.train.classes
        if len(classes) < 2:
            raise ValueError(
                f"a tagger needs two or more tags, and {self.train.origin} has only {classes[0]!r}"
            )
        if self.valid is not None:
            self.valid.check_tags(classes, "those of the training texts")


def read_tagged(paths: PathLike | Sequence[PathLike]) -> TaggedTexts:
    """Reads lines of `word/TAG word/TAG`; the last slash of a word separates its tag.

    Args:
        paths: One path, or several in order; UTF-8, plain or gzip. A blank line is a text
            without words, which training drops and counts.

    Raises:
        FileNotFoundError: A file is missing; all are checked before any is read.
        OSError: A file cannot be read.
        ValueError: Words have no tag (names file and lines), or there is no word at all.
    """
    files = as_paths(paths)
    require_files(files)
    texts: list[list[tuple[str, str]]] = []
    lines, wrong = [], WrongLines()
    for path in files:
        begin = len(texts)
        for number, line in enumerate(iter_lines(path), start=1):
            items = [(*item.rpartition("/"), item) for item in line.split()]
            untagged = [item for word, _, tag, item in items if not word or not tag]
            if untagged:
                wrong.add(path, number, f"expected word/TAG, got {untagged[0]!r}")
            texts.append([(word, tag) for word, _, tag, _ in items])
        lines.append((str(path), range(1, len(texts) - begin + 1)))
    wrong.refuse()
    words = [tuple(word for word, _ in row) for row in texts]
    tags = [tuple(tag for _, tag in row) for row in texts]
    return TaggedTexts(words, tags, ", ".join(map(str, files)), lines)
