"""The figures of a tagger in training: F1 of the spans that its tags mark, and the loss of a chain
of tags.
"""

from typing import Any

import keras
from keras import ops

from keras_transformer.layers.heads.linear_chain_crf import words_first
from keras_transformer.tensors import Tensor
from keras_transformer.understanding.tag_schemes import TagScheme


class SpanF1(keras.metrics.Metric):
    """F1 of the spans of all texts together, as seqeval computes it by default; 0 without spans.

    A span is right if one of the same kind has the same first and the same last word.

    Args:
        scheme: The scheme of the tags.
        name: The metric's name.
    """

    def __init__(self, scheme: TagScheme, name: str = "span_f1") -> None:
        super().__init__(name=name)
        self._scheme = scheme
        self._right, self._all = (
            self.add_weight(name=name, initializer="zeros") for name in ("right", "all")
        )

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor) -> None:
        """Takes the numbers of tags `(batch, length)`; weights are 0 at tokens without a tag."""
        word_mask = sample_weight > 0
        order = words_first(word_mask)
        is_word = ops.take_along_axis(word_mask, order, axis=1)
        edge = len(self._scheme.labels)
        wanted, found = (
            self._spans(ops.where(is_word, ops.take_along_axis(tags, order, axis=1), edge))
            for tags in (y_true, y_pred)
        )
        is_right = (wanted == found) & (wanted > 0)
        self._right.assign_add(_count(is_right))
        self._all.assign_add(_count(wanted > 0) + _count(found > 0))

    def _spans(self, tags: Tensor) -> Tensor:
        """Returns a number for the kind and the end of each span at its first word, 0 elsewhere."""
        edge = len(self._scheme.labels)
        border = ops.full_like(tags[:, :1], edge)
        before, after = (ops.concatenate(two, axis=1) for two in ([border, tags], [tags, border]))
        breaks = ops.take(self._scheme.breaks.reshape(-1), before * (edge + 1) + after)
        places = ops.arange(ops.shape(after)[1], dtype="int32")
        # [B, T, T + 1]: the breaks behind each word, of which the first ends its span.
        behind = breaks[:, None] & (places > places[:-1, None])
        ends = ops.min(ops.where(behind, places, ops.shape(after)[1]), axis=2)
        kinds = ops.take(self._scheme.kind_numbers, tags)
        number = ends * int(self._scheme.kind_numbers.max() + 1) + kinds
        return ops.where(breaks[:, :-1] & (kinds > 0), number, 0)

    def result(self) -> Tensor:
        """Returns the F1 since the last reset."""
        return 2 * self._right / ops.maximum(self._all, 1.0)


class Tagging:
    """The tags that a model in training gives, and what follows from them.

    Args:
        model: A tagger.

    Attributes:
        span_f1: The F1 of spans; None if the tags follow neither BIO nor BIOES.
    """

    def __init__(self, model: Any) -> None:
        self._chain = getattr(model.head, "chain", None)
        scheme = TagScheme.of(model.config.labels)
        self.span_f1 = SpanF1(scheme) if scheme else None

    def sums(
        self, states: Tensor, matrix: Tensor, labels: Tensor, weights: Tensor
    ) -> tuple[Tensor, Tensor] | None:
        """Updates the F1 of spans and returns a chain's sums over a batch; None without a chain.

        Args:
            states: `(batch, length, model_dim)`.
            matrix: `(tags, model_dim)`.
            labels: int32 `(batch, length)`.
            weights: float32 `(batch, length)`, 0 at tokens without a tag. A text's tags have one
                likelihood, whose weight is the highest of its words.

        Returns:
            float32 `(3,)` as `linear_cross_entropy` does: loss and nats, which are the negative
            log-likelihood of the tags, and hits of the best path; and the sum of the weights.
        """
        # With R-Drop the rows of a second pass follow.
        emissions = ops.matmul(states[: ops.shape(labels)[0]], ops.transpose(matrix))
        given, word_mask = ops.stop_gradient(emissions), weights > 0
        if self._chain is None:
            tags = ops.cast(ops.argmax(given, axis=-1), "int32")
        else:
            tags = self._chain(given, word_mask)
        if self.span_f1 is not None:
            self.span_f1.update_state(labels, tags, weights)
        if self._chain is None:
            return None
        likelihood = ops.cast(self._chain.log_likelihood(emissions, labels, word_mask), "float32")
        nats = -ops.sum(likelihood * ops.max(weights, axis=1))
        hits = ops.sum(weights * ops.cast(tags == labels, "float32"))
        return ops.stack([nats, nats, hits]), ops.sum(weights)


def _count(values: Tensor) -> Tensor:
    return ops.sum(ops.cast(values, "float32"))
