"""The scores of a tagger against the right tags: accuracy, and precision, recall and F1 of the
spans that tags mark, by seqeval's definition.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from keras_transformer.understanding.tag_schemes import OUTSIDE, TaggedSpan, TagScheme


@dataclass(frozen=True)
class SpanScores:
    """The scores of spans, all from 0 to 1.

    Attributes:
        precision: Share of the spans found that are right: of the same kind, with the same first
            and the same last word as one of the right spans; 0 if none was found.
        recall: Share of the right spans that were found; 0 if there is none.
        f1: The harmonic mean of both.
        spans: How many right spans there are.
    """

    precision: float
    recall: float
    f1: float
    spans: int


@dataclass(frozen=True)
class TagScores:
    """The scores of a tagger on tagged texts.

    Attributes:
        accuracy: Share of the words that were given their tag.
        words: How many words there are.
        spans: The scores of spans of all kinds together; None if the tags follow no scheme.
        kinds: The scores of the spans of each kind.
    """

    accuracy: float
    words: int
    spans: SpanScores | None
    kinds: dict[str, SpanScores]


def tag_scores(
    found: Sequence[Sequence[str]], right: Sequence[Sequence[str]], labels: Sequence[str]
) -> TagScores:
    """Returns the scores of a tagger.

    Args:
        found: The tags that it gave the words of each text, "" for none.
        right: As many right tags.
        labels: All tags that the tagger knows. If they follow BIO or BIOES, spans are found as
            seqeval finds them by default: an I that continues nothing begins a span.

    Raises:
        ValueError: There is no word, there are not as many of both, or a right tag is not among
            `labels`.

    Example:
        >>> tag_scores([["B-X", "O"]], [["B-X", "I-X"]], ["B-X", "I-X", "O"]).accuracy
        0.5
    """
    if [*map(len, found)] != [*map(len, right)] or not any(right):
        raise ValueError(
            f"got tags of {sum(map(len, found))} words for {sum(map(len, right))}: give one for "
            "each, text by text."
        )
    for number, tags in enumerate(right, start=1):
        for tag in tags:
            if tag not in labels:
                raise ValueError(
                    f"the tag {tag!r} of text {number} is none of the tagger's: "
                    f"{', '.join(map(repr, labels))}."
                )
    pairs = [pair for both in zip(found, right, strict=True) for pair in zip(*both, strict=True)]
    accuracy = sum(one == other for one, other in pairs) / len(pairs)
    scheme = TagScheme.of(labels)
    if scheme is None:
        return TagScores(accuracy, len(pairs), None, {})
    given, wanted = (_spans(texts, scheme) for texts in (found, right))
    kinds = sorted({span.kind for _, span in given | wanted})
    counts = [Counter(span.kind for _, span in spans) for spans in (given & wanted, given, wanted)]
    return TagScores(
        accuracy,
        len(pairs),
        _scores(*(one.total() for one in counts)),
        {kind: _scores(*(one[kind] for one in counts)) for kind in kinds},
    )


def _spans(texts: Sequence[Sequence[str]], scheme: TagScheme) -> set[tuple[int, TaggedSpan]]:
    tagged = ([tag or OUTSIDE for tag in tags] for tags in texts)
    return {(number, span) for number, tags in enumerate(tagged) for span in scheme.spans(tags)}


def _scores(right: int, found: int, wanted: int) -> SpanScores:
    return SpanScores(
        precision=right / found if found else 0.0,
        recall=right / wanted if wanted else 0.0,
        f1=2 * right / (found + wanted) if found + wanted else 0.0,
        spans=wanted,
    )
