"""Phrases in rows of ids, as masks of the tokens that continue one (Sun et al. 2019, ERNIE, section
3.2).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import tensorflow as tf


@dataclass(frozen=True)
class PhraseTree:
    """Phrases as a prefix tree, whose root is node 0.

    Attributes:
        vocab_size: Number of ids.
        keys: `node * vocab_size + id` of every edge, ascending: int64.
        children: The node that each edge leads to: int64.
        ends: The number of the phrase that ends at each node, -1 for none: int64.
        longest: Most tokens of a phrase.
    """

    vocab_size: int
    keys: npt.NDArray[np.int64]
    children: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    longest: int

    @classmethod
    def of(
        cls, phrases: Sequence[Sequence[int]], vocab_size: int, *more: Sequence[Sequence[int]]
    ) -> "PhraseTree":
        """Makes the tree of the ids of phrases; those of fewer than two tokens change nothing.

        Args:
            phrases: The ids of each phrase.
            vocab_size: Number of ids.
            *more: Other ids of each phrase, in the same order, such as those behind a space.
        """
        edges: dict[int, int] = {}
        numbers: dict[int, int] = {}
        forms = [*phrases, *(phrase for form in more for phrase in form)]
        for place, phrase in enumerate(forms):
            node = 0
            for token in phrase:
                node = edges.setdefault(node * vocab_size + token, len(edges) + 1)
            numbers.setdefault(node, place % len(phrases))
        # One edge that nothing takes, so that there is always one to look up.
        keys = np.array(sorted(edges) or [-1], np.int64)
        children = np.array([edges.get(int(key), 0) for key in keys], np.int64)
        ends = np.array([-1, *(numbers.get(node, -1) for node in range(1, len(edges) + 1))])
        return cls(vocab_size, keys, children, ends, max(map(len, forms), default=0))

    def continues(self, ids: tf.Tensor, begins_word: tf.Tensor) -> tf.Tensor:
        """Returns where a token stands in a phrase, but not at its start: boolean (B, L).

        Phrases are found where words begin and end; those that overlap are joined.

        Args:
            ids: int32 (B, L).
            begins_word: Whether a word or what is no text begins at each place: boolean (B, L).
        """
        lengths, _ = self._longest_from(ids, begins_word)
        width = tf.shape(ids)[1]
        padded = tf.pad(lengths, [[0, 0], [self.longest, 0]])
        inside = tf.zeros_like(begins_word)
        for back in range(1, self.longest):
            first = self.longest - back
            inside |= padded[:, first : first + width] > back
        return inside

    def count_found(self, ids: tf.Tensor, begins_word: tf.Tensor) -> int:
        """Returns how many phrases are found, which are not always part of a longer one.

        Arguments are those of `continues`.
        """
        _, nodes = self._longest_from(ids, begins_word)
        return len(np.setdiff1d(self.ends[nodes], [-1]))

    def _longest_from(self, ids: tf.Tensor, begins_word: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the length of the longest phrase from each place on, and its node; 0 for none."""
        keys, children = tf.constant(self.keys), tf.constant(self.children)
        is_end, width = tf.constant(self.ends >= 0), tf.shape(ids)[1]
        node = tf.zeros_like(ids, tf.int64)
        alive, found, found_node = begins_word, tf.zeros_like(ids), node
        # No id is -1, and a row ends where a word would begin.
        after = tf.pad(tf.cast(ids, tf.int64), [[0, 0], [0, self.longest]], constant_values=-1)
        begins = tf.pad(begins_word, [[0, 0], [0, self.longest + 1]], constant_values=True)
        for step in range(self.longest):
            token = after[:, step : step + width]
            key = node * self.vocab_size + token
            place = tf.minimum(tf.searchsorted(keys, tf.reshape(key, (-1,))), len(self.keys) - 1)
            place = tf.reshape(place, tf.shape(ids))
            alive &= (token >= 0) & (tf.gather(keys, place) == key)
            node = tf.where(alive, tf.gather(children, place), 0)
            ends = alive & tf.gather(is_end, node) & begins[:, step + 1 : step + 1 + width]
            found = tf.where(ends, step + 1, found)
            found_node = tf.where(ends, node, found_node)
        return found, found_node
