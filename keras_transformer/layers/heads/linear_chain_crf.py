"""The linear-chain conditional random field over the tags of a text's words (Lafferty, McCallum and
Pereira 2001; on a neural encoder Lample et al. 2016).
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from keras_transformer.tensors import Tensor

# What a forbidden pair adds to a path: more than any other score can make up for, and finite, so
# that even a text with no path but forbidden ones has a best path and probabilities.
_FORBIDDEN = -1e9


class ChainScores(NamedTuple):
    """What a path scores beside its emissions.

    Attributes:
        transitions: `(tags, tags)`, of a word's tag and the next word's.
        starts: `(tags,)`, of the first word's tag.
        ends: `(tags,)`, of the last word's tag.
    """

    transitions: Tensor
    starts: Tensor
    ends: Tensor


class _Words(NamedTuple):
    """The words of each text at the beginning of its row, which goes along axis 0.

    Behind the last ones comes a place without a word, so that there is something to go through
    after the first word: TensorFlow cannot stack nothing.
    """

    emissions: Tensor  # [T, B, K]
    is_word: Tensor  # [T, B, 1], 1 or 0

    @property
    def later(self) -> Tensor:
        """All but the first words, in one tensor: `ops.scan` takes one of unknown length."""
        return ops.concatenate(self, axis=2)[1:]


@keras.saving.register_keras_serializable("keras_transformer")
class LinearChainCRF(keras.layers.Layer):
    """Finds the tags of a text's words together, by how well they follow each other.

    With emissions e, tags y of n words score s(y) = starts[y_1] + Σ e_i[y_i] +
    Σ transitions[y_i, y_{i+1}] + ends[y_n]; their probability is exp(s(y)) / Z, where Z is the sum
    of exp(s) over all paths. The three are zeros at first, as if there were no chain. Sums are
    computed in float32 at least, whatever the dtype policy.

    Args:
        num_tags: Number of tags, K.
        forbidden: Pairs of numbers of tags of which the second never follows the first; K stands
            for the edge of the text, before the first word and behind the last one. They are
            forbidden where tags are found and probabilities computed, not in training.

    Input:
        Emissions `(batch, length, num_tags)`; and a boolean mask `(batch, length)`, True at places
        that have a tag, None if all do. The chain skips the others.

    Output:
        The best path (Viterbi 1967): tags int32 `(batch, length)`. A place without a tag gets that
        of the last one before it.

    Example:
        >>> crf = LinearChainCRF(2, forbidden=[(0, 1)])
        >>> crf(ops.array([[[2.0, 0.0], [0.0, 1.0]]])).numpy()
        array([[0, 0]], dtype=int32)
    """

    def __init__(
        self, num_tags: int, forbidden: Iterable[Iterable[int]] = (), **kwargs: Any
    ) -> None:
        if num_tags < 1:
            raise ValueError(f"num_tags must be at least 1, got {num_tags}.")
        pairs = tuple((int(before), int(after)) for before, after in forbidden)
        for pair in pairs:
            if not all(0 <= tag <= num_tags for tag in pair):
                raise ValueError(
                    f"forbidden must hold pairs of numbers of tags, from 0 to {num_tags - 1}, or "
                    f"{num_tags} for the edge of the text, got {pair}."
                )
        # Emissions are not cast to half precision on their way in.
        super().__init__(autocast=False, **kwargs)
        self.num_tags = num_tags
        self.forbidden = pairs

    def build(self, emissions_shape: Any) -> None:
        """Creates the scores."""
        if emissions_shape[-1] != self.num_tags:
            raise ValueError(
                f"emissions must have as many features as num_tags ({self.num_tags}), got the "
                f"shape {tuple(emissions_shape)}."
            )
        self.transitions, self.starts, self.ends = (
            self.add_weight(
                shape=(self.num_tags,) * rank, initializer="zeros", autocast=False, name=name
            )
            for name, rank in (("transitions", 2), ("starts", 1), ("ends", 1))
        )

    @property
    def sum_dtype(self) -> str:
        """The dtype of scores and their sums."""
        dtype: str = keras.backend.result_type(self.compute_dtype, "float32")
        return dtype

    def scores(self, *, is_training: bool = False) -> ChainScores:
        """Returns the scores beside emissions, with or, in training, without what is forbidden."""
        given = (self.transitions, self.starts, self.ends)
        learnt = ChainScores(*(ops.cast(one, self.sum_dtype) for one in given))
        if is_training or not self.forbidden:
            return learnt
        edge = self.num_tags
        added = np.zeros((edge + 1, edge + 1), self.sum_dtype)
        added[tuple(zip(*self.forbidden, strict=True))] = _FORBIDDEN
        parts = (added[:edge, :edge], added[edge, :edge], added[:edge, edge])
        return ChainScores(*(one + part for one, part in zip(learnt, parts, strict=True)))

    def call(self, emissions: Tensor, word_mask: Tensor | None = None) -> Tensor:
        """Returns the best path."""
        word_mask = _all_words(emissions) if word_mask is None else word_mask
        words, scores = self._words(emissions, word_mask), self.scores()
        here = ops.arange(self.num_tags, dtype="int32")

        def step(carry: tuple[Tensor, Tensor], word: Tensor) -> Any:
            emissions, is_word = _unpacked(word)
            paths = carry[0][:, :, None] + scores.transitions  # [B, before, K]
            best = ops.where(is_word, ops.max(paths, axis=1) + emissions, carry[0])
            before = ops.where(is_word, ops.cast(ops.argmax(paths, axis=1), "int32"), here)
            return (best, before), (best, before)

        first = scores.starts + words.emissions[0]
        begin = first, ops.broadcast_to(here, ops.shape(first))
        (best, _), (_, before) = ops.scan(step, begin, words.later)
        last = ops.cast(ops.argmax(best + scores.ends, axis=-1), "int32")

        def back(tag: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
            found = ops.take_along_axis(before, tag[:, None], axis=1)[:, 0]
            return found, found

        _, path = ops.scan(back, last, before, reverse=True)
        path = ops.transpose(ops.concatenate([path, last[None]]))
        return ops.take_along_axis(path, _numbers(word_mask), axis=1)

    def marginals(self, emissions: Tensor, word_mask: Tensor | None = None) -> Tensor:
        """Returns the probability of each tag at each place, over all paths.

        Args:
            emissions: `(batch, length, num_tags)`.
            word_mask: Boolean `(batch, length)`, as in a call.

        Returns:
            Float32 at least, of the emissions' shape; a place without a tag gets those of the last
            one before it.
        """
        word_mask = _all_words(emissions) if word_mask is None else word_mask
        words, scores = self._words(emissions, word_mask), self.scores()
        ahead, behind = _forward(words, scores), _backward(words, scores)
        shares = ops.exp(ahead + behind - _log_partition(ahead, scores)[:, None])
        shares = ops.transpose(shares, (1, 0, 2))
        return ops.take_along_axis(shares, _numbers(word_mask)[:, :, None], axis=1)

    def log_likelihood(
        self, emissions: Tensor, tags: Tensor, word_mask: Tensor | None = None
    ) -> Tensor:
        """Returns the log-probability of each text's tags in nats: `(batch,)`, 0 without words.

        Args:
            emissions: `(batch, length, num_tags)`.
            tags: Integers `(batch, length)`; those of places without a tag are not read.
            word_mask: Boolean `(batch, length)`, as in a call.
        """
        word_mask = _all_words(emissions) if word_mask is None else word_mask
        words, scores = self._words(emissions, word_mask), self.scores(is_training=True)
        tags = ops.take_along_axis(tags, words_first(word_mask), axis=1)
        tags = ops.pad(ops.transpose(tags), [[0, 1], [0, 0]])
        ahead, behind = _forward(words, scores), _backward(words, scores)
        log_partition = _log_partition(ahead, scores)
        shares = ops.exp(ahead + behind - log_partition[:, None])
        onward = (words.emissions[1:] + behind[1:] - log_partition[:, None])[:, :, None]
        pairs = ops.exp(ahead[:-1, :, :, None] + scores.transitions + onward)  # [T-1, B, K, K]
        expected = _path_score(shares, pairs, words, scores)
        chosen = ops.cast(ops.one_hot(tags, self.num_tags), self.sum_dtype)
        followed = chosen[:-1, :, :, None] * chosen[1:, :, None]
        # The gradient of log Z is that of the expected score of a path, with the probabilities of
        # paths held fixed: no gradient goes through a loop, which XLA could not compile.
        log_partition = expected + ops.stop_gradient(log_partition - expected)
        score = _path_score(chosen, followed, words, scores)
        return (score - log_partition) * words.is_word[0, :, 0]

    def _words(self, emissions: Tensor, word_mask: Tensor) -> _Words:
        order = words_first(word_mask)
        emissions = ops.cast(emissions, self.sum_dtype)
        emissions = ops.take_along_axis(emissions, order[:, :, None], axis=1)
        is_word = ops.cast(ops.take_along_axis(word_mask, order, axis=1), self.sum_dtype)
        rows = ops.transpose(emissions, (1, 0, 2)), ops.transpose(is_word)[:, :, None]
        return _Words(*(ops.pad(values, [[0, 1], [0, 0], [0, 0]]) for values in rows))

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        forbidden = [list(pair) for pair in self.forbidden]
        return {**super().get_config(), "num_tags": self.num_tags, "forbidden": forbidden}

    def compute_output_shape(self, emissions_shape: Any) -> Any:
        """Returns `(batch, length)`."""
        return emissions_shape[:-1]

    def compute_output_spec(
        self, emissions: Tensor, word_mask: Tensor | None = None
    ) -> keras.KerasTensor:
        """Returns int32 `(batch, length)`, where Keras would take the layer's own dtype."""
        return keras.KerasTensor(self.compute_output_shape(emissions.shape), "int32")


def _all_words(emissions: Tensor) -> Tensor:
    return ops.ones(ops.shape(emissions)[:2], "bool")


def words_first(word_mask: Tensor) -> Tensor:
    """Returns the places of a text's words in order, then the others: int32 `(batch, length)`."""
    length = ops.shape(word_mask)[1]
    places = ops.arange(length, dtype="int32")
    order = ops.argsort(ops.where(word_mask, places, places + length), axis=1)
    return ops.cast(order, "int32")


def _numbers(word_mask: Tensor) -> Tensor:
    """Returns which word each place belongs to, the last up to it: int32 `(batch, length)`."""
    return ops.maximum(ops.cumsum(ops.cast(word_mask, "int32"), axis=1) - 1, 0)


def _unpacked(word: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the emissions of a word of `_Words.later`, and whether it is one."""
    return word[:, :-1], word[:, -1:] > 0


def _forward(words: _Words, scores: ChainScores) -> Tensor:
    """Returns log-sums over all beginnings of a path up to each word's tag: `(T, B, K)`."""

    def step(before: Tensor, word: Tensor) -> tuple[Tensor, Tensor]:
        emissions, is_word = _unpacked(word)
        sums = ops.logsumexp(before[:, :, None] + scores.transitions, axis=1)
        found = ops.where(is_word, sums + emissions, before)
        return found, found

    first = scores.starts + words.emissions[0]
    _, sums = ops.scan(step, first, words.later)
    return ops.concatenate([first[None], sums])


def _backward(words: _Words, scores: ChainScores) -> Tensor:
    """Returns log-sums over all ends of a path behind each word's tag: `(T, B, K)`."""

    def step(after: Tensor, word: Tensor) -> tuple[Tensor, Tensor]:
        emissions, is_word = _unpacked(word)
        sums = ops.logsumexp(scores.transitions + (emissions + after)[:, None], axis=2)
        found = ops.where(is_word, sums, after)
        return found, found

    last = ops.broadcast_to(scores.ends, ops.shape(words.emissions)[1:])
    _, sums = ops.scan(step, last, words.later, reverse=True)
    return ops.concatenate([sums, last[None]])


def _log_partition(ahead: Tensor, scores: ChainScores) -> Tensor:
    """Returns log Z of each text: `(B,)`."""
    return ops.logsumexp(ahead[-1] + scores.ends, axis=-1)


def _path_score(shares: Tensor, pairs: Tensor, words: _Words, scores: ChainScores) -> Tensor:
    """Returns the score of a path, or the expected one of many: `(B,)`.

    It is linear in how often a path has each tag at each word, and each pair at two.

    Args:
        shares: `(T, B, K)`, of each tag; they get no gradient.
        pairs: `(T - 1, B, K, K)`, of each tag and the next word's; neither do they.
        words: The emissions.
        scores: The others.
    """
    is_word = words.is_word
    shares = ops.stop_gradient(shares * is_word)
    pairs = ops.stop_gradient(pairs * is_word[1:, :, :, None])
    # The last word is one that none follows.
    is_last = 1 - ops.concatenate([is_word[1:], ops.zeros_like(is_word[:1])])
    return (
        ops.sum(shares * (words.emissions + is_last * scores.ends), axis=(0, 2))
        + ops.sum(pairs * scores.transitions, axis=(0, 2, 3))
        + ops.sum(shares[0] * scores.starts, axis=-1)
    )
