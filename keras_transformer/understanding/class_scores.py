"""The scores of a classifier against the right labels: accuracy, and precision, recall and F1 of
each label. A text may have several labels, or none.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class LabelScores:
    """The scores of one label against the others, all from 0 to 1.

    Attributes:
        precision: Share of the texts given this label whose label it is; 0 if none was given it.
        recall: Share of the texts of this label that were given it; 0 if there is none.
        f1: The harmonic mean of both.
        texts: How many texts have this label.
    """

    precision: float
    recall: float
    f1: float
    texts: int


@dataclass(frozen=True)
class ClassScores:
    """The scores of a classifier on labelled texts.

    Attributes:
        accuracy: Share of texts that were given their label, or exactly their labels.
        macro_f1: Mean of the F1 of the labels that a text has or was given, as scikit-learn's.
        labels: The scores of each label.
    """

    accuracy: float
    macro_f1: float
    labels: dict[str, LabelScores]


def class_scores(
    found: Sequence[Collection[str]], right: Sequence[Collection[str]], labels: Sequence[str]
) -> ClassScores:
    """Returns the scores of a classifier.

    Args:
        found: The labels that it gave each text.
        right: Each text's labels.
        labels: All that the classifier knows.

    Raises:
        ValueError: There is no text, there are not as many of both, or one is not among `labels`.

    Example:
        >>> class_scores([["no"], ["yes"]], [["no"], ["no"]], ["no", "yes"]).accuracy
        0.5
    """
    if len(found) != len(right) or not right:
        raise ValueError(f"got {len(found)} labels for {len(right)} texts: give one for each.")
    for number, given in enumerate(right, start=1):
        for label in given:
            if label not in labels:
                raise ValueError(
                    f"the label of text {number}, {label!r}, is none of the classifier's: "
                    f"{', '.join(map(repr, labels))}."
                )
    both = [({*one}, {*other}) for one, other in zip(found, right, strict=True)]
    scores = {label: _scores_of(label, both) for label in labels}
    seen = set[str]().union(*found, *right)
    occurring = [label for label in labels if label in seen]
    return ClassScores(
        accuracy=sum(one == other for one, other in both) / len(right),
        macro_f1=sum(scores[label].f1 for label in occurring) / max(1, len(occurring)),
        labels=scores,
    )


def _scores_of(label: str, both: Sequence[tuple[set[str], set[str]]]) -> LabelScores:
    given = sum(label in found for found, _ in both)
    texts = sum(label in right for _, right in both)
    hits = sum(label in found & right for found, right in both)
    return LabelScores(
        precision=hits / given if given else 0.0,
        recall=hits / texts if texts else 0.0,
        f1=2 * hits / (given + texts) if given + texts else 0.0,
        texts=texts,
    )
