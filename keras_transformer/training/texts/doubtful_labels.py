"""Labels that look like mistakes: spelled in two ways, with one text only, or two for one text."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from keras_transformer.data.sources.texts import LabelledTexts

# Labels, or groups of them, that a warning names.
_NAMED = 3


def label_warnings(texts: LabelledTexts) -> Iterator[str]:
    """Yields a line for each kind of doubtful label, which training takes as it is.

    Example:
        >>> texts = LabelledTexts(["pet", "Pet"], ["a dog", "a dog"], None, origin="example")
        >>> for line in label_warnings(texts):
        ...     print(line)
        labels that differ only in capitals and spaces: 'Pet' (1) and 'pet' (1)
        labels with only one text: 'Pet', 'pet'
        the same text under different labels: 'Pet' and 'pet' (1)
    """
    counts = texts.label_counts
    spelled: dict[str, list[str]] = defaultdict(list)
    for label in sorted(counts):
        spelled["".join(label.casefold().split())].append(label)
    alike = [
        " and ".join(f"{label!r} ({counts[label]:,})" for label in labels)
        for labels in spelled.values()
        if len(labels) > 1
    ]
    single = [repr(label) for label in sorted(counts) if counts[label] == 1]
    rows: dict[Any, set[str]] = defaultdict(set)
    for place in texts.filled:
        row = texts.first[place], texts.second and texts.second[place]
        rows[row].add(", ".join(sorted(texts.names_of(place))))
    doubled = Counter(tuple(sorted(labels)) for labels in rows.values() if len(labels) > 1)
    contrary = [
        f"{' and '.join(map(repr, labels))} ({count:,})" for labels, count in doubled.most_common()
    ]
    for what, found in (
        ("labels that differ only in capitals and spaces", alike),
        ("labels with only one text", single),
        ("the same text under different labels", contrary),
    ):
        if found:
            yield f"{what}: {_few(found)}"


def _few(found: Sequence[str]) -> str:
    more = [f"and {len(found) - _NAMED:,} more"] * (len(found) > _NAMED)
    return ", ".join([*found[:_NAMED], *more])
