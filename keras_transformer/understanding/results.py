"""Encoders' answers about texts, as values."""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_transformer.config.checks import check_number
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.text_vectors import SHORTEST, Pooling, poolings_of
from keras_transformer.understanding.engine import Array, TagPath

# Least probability of a label where a text may have several.
THRESHOLD = 0.5


@dataclasses.dataclass(frozen=True)
class Classification:
    """The class of a text, or its labels if it may have several.

    Attributes:
        label: The most probable label.
        probability: Its probability.
        probabilities: float32 `(labels,)`, in the order of the config's `labels`; with
            `multi_label` each stands for itself, and they do not add up to 1.
        chosen: The labels of the text and their probabilities, most probable first: with
            `multi_label` those that are probable enough, perhaps none, and else `label` alone.
    """

    label: str
    probability: float
    probabilities: Any = dataclasses.field(compare=False, repr=False)
    chosen: dict[str, float] = dataclasses.field(default_factory=dict, compare=False, repr=False)


@dataclasses.dataclass(frozen=True)
class WordTag:
    """The tag of a word.

    Attributes:
        word: The word as it stands in the text.
        tag: Its most probable tag, or with a model's `crf` that of the text's most probable tags;
            "" for a word without a token, such as an invisible character.
        probability: The tag's probability, with `crf` over all tags that the other words may have.
    """

    word: str
    tag: str
    probability: float


@dataclasses.dataclass(frozen=True)
class Filling:
    """A text with its masks filled.

    Attributes:
        text: The text.
        tokens: What each mask was replaced by, in their order.
        score: Sum of the tokens' log-probabilities in nats.
    """

    text: str
    tokens: list[str]
    score: float


@dataclasses.dataclass(frozen=True)
class RankedText:
    """A text and its score for a query.

    Attributes:
        index: The text's place among those that were ranked.
        text: The text.
        score: The higher, the better it fits the query; in 0 to 1 with the config's
            `value_activation="sigmoid"`.
    """

    index: int
    text: str
    score: float


@dataclasses.dataclass(frozen=True)
class Span:
    """A part of a text.

    Attributes:
        text: The part.
        first: Place of its first token among the text's own.
        last: Place of its last token.
        score: Sum of the logits of the first as a beginning and the last as an end.
    """

    text: str
    first: int
    last: int
    score: float


def best_first(texts: Sequence[str], scores: Sequence[float]) -> list[RankedText]:
    """Returns texts by falling score; those with the same score keep their order."""
    ranked = [RankedText(*one) for one in zip(range(len(texts)), texts, scores, strict=True)]
    return sorted(ranked, key=lambda one: -one.score)


_POOLERS: dict[Pooling, Callable[[Array], Array]] = {
    "first": lambda states: states[0],
    "max": lambda states: states.max(axis=0),
    "mean": lambda states: states.mean(axis=0),
    "mean_sqrt_length": lambda states: states.sum(axis=0) / np.float32(math.sqrt(len(states))),
    "weighted_mean": lambda states: np.average(
        states, axis=0, weights=np.arange(1, len(states) + 1)
    ),
    "last": lambda states: states[-1],
}


def pooled(states: Array, pooling: str) -> Array:
    """Returns one vector made of a text's states, as `EncoderConfig.pooling` says.

    Args:
        states: float32 `(tokens, model_dim)`, without padding.
        pooling: How states become one vector, by the names of `EncoderConfig.pooling`.
    """
    return np.concatenate([_POOLERS[name](states) for name in poolings_of(pooling)])


def unit_vectors(vectors: Array) -> Array:
    """Divides vectors `(texts, width)` by their lengths."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.maximum(lengths, SHORTEST)


def softmax(logits: Array) -> Array:
    """Returns probabilities over the last axis, summed in float64."""
    wide = np.exp(logits.astype(np.float64) - logits.max(axis=-1, keepdims=True))
    return (wide / wide.sum(axis=-1, keepdims=True)).astype(np.float32)


def sigmoid(logits: Array) -> Array:
    """Returns the probability 1 / (1 + exp(-x)) of each logit, computed in float64."""
    decay = np.exp(-np.abs(logits.astype(np.float64)))
    return (np.where(logits < 0, decay, 1.0) / (1.0 + decay)).astype(np.float32)


def most_probable(
    logits: Array, labels: Sequence[str], threshold: float | None = None
) -> Classification:
    """Returns the class of a text from its logits, float32 `(labels,)`.

    Args:
        logits: The text's.
        labels: Their names.
        threshold: Least probability of a label, each of which stands for itself; None if the text
            has exactly one.
    """
    probabilities = softmax(logits) if threshold is None else sigmoid(logits)
    best = int(probabilities.argmax())
    places = [best]
    if threshold is not None:
        order = np.argsort(-probabilities, kind="stable")
        places = order[probabilities[order] >= threshold].tolist()
    chosen = {labels[place]: float(probabilities[place]) for place in places}
    return Classification(labels[best], float(probabilities[best]), probabilities, chosen)


def threshold_of(config: EncoderConfig, threshold: float | None) -> float | None:
    """Returns the least probability of a text's label; None if every text has exactly one.

    Raises:
        TypeError: The threshold is not a number.
        ValueError: It lies outside 0 to 1, or every text has exactly one label.
    """
    if not config.multi_label:
        if threshold is not None:
            raise ValueError(
                f"threshold is for models with multi_label=True, got {threshold!r}: this one gives "
                "every text the most probable of its labels."
            )
        return None
    if threshold is None:
        return THRESHOLD
    check_number("threshold", threshold)
    if not 0 <= threshold <= 1:
        raise ValueError(f"threshold must be a probability in [0, 1], got {threshold!r}.")
    return threshold


def independent_tags(logits: Array) -> TagPath:
    """Returns the most probable tag of each word, whatever the others have.

    Args:
        logits: float32 `(words, labels)`.
    """
    probabilities = softmax(logits)
    return TagPath(probabilities.argmax(axis=1).astype(np.int32), probabilities)


def first_places(lengths: Sequence[int], length: int) -> list[int | None]:
    """Returns the place of each word's first token among a text's.

    Args:
        lengths: How many tokens each word has.
        length: How many tokens the text has; fewer than its words have if it was cut.

    Returns:
        None for a word without a token.
    """
    starts = np.cumsum([0, *lengths]).tolist()
    return [
        start if count and start < length else None
        for start, count in zip(starts, lengths, strict=False)
    ]


def word_tags(
    words: Sequence[str], is_tagged: Sequence[bool], path: TagPath, labels: Sequence[str]
) -> list[WordTag]:
    """Returns the tag of each word of a text.

    Args:
        words: The text's words.
        is_tagged: Whether each word has a tag.
        path: The tags of those that have one.
        labels: The names of tags.
    """
    found = iter(zip(*path, strict=True))
    tags = []
    for word, has_tag in zip(words, is_tagged, strict=True):
        if not has_tag:
            tags.append(WordTag(word, "", 0.0))
            continue
        tag, probabilities = next(found)
        tags.append(WordTag(word, labels[tag], float(probabilities[tag])))
    return tags


def best_span(logits: Array, longest: int | None = None) -> tuple[int, int, float]:
    """Returns the first and the last place of the best span, and its score.

    Args:
        logits: float32 `(length, 2)` of a span's first and last token.
        longest: Most tokens of the span; no limit if None.
    """
    length = len(logits)
    scores: npt.NDArray[np.float32] = logits[:, 0][:, None] + logits[:, 1][None, :]
    places = np.arange(length)
    allowed = places[:, None] <= places[None, :]
    if longest is not None:
        allowed &= places[None, :] - places[:, None] < longest
    scores = np.where(allowed, scores, -np.inf)
    first, last = divmod(int(scores.argmax()), length)
    return first, last, float(scores[first, last])
