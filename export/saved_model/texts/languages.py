"""The marks of a model's languages in the graph: the ids around each row, by codes of languages or
by the tag that begins a text.
"""

from typing import NamedTuple

import tensorflow as tf

from keras_transformer.config.sentence_marks import TAG, SentenceMarks
from keras_transformer.tensors import Tensor

_TEXT_WITH_TAG = rf"(?s){TAG}(.*)"


class Marks(NamedTuple):
    """The ids that stand before the rows of a batch, as many before each of them."""

    source: Tensor  # int32 [B, marks of a source]
    target: Tensor  # int32 [B, marks of a translation]


class RowLanguages:
    """Looks languages up in the graph, where a row that names none has the defaults.

    A language that the model does not know ends the whole request, as a graph cannot refuse a row.

    Args:
        marks: The model's marks.
        source_language: The language of texts by default; the model's if None.
        target_language: The language to translate into by default; the model's if None.

    Attributes:
        begins: The marks of rows that name no language.
        knows_tags: Whether a text may begin with a tag.

    Raises:
        ValueError: The model does not know a default, or has none.
    """

    def __init__(
        self, marks: SentenceMarks, source_language: str | None, target_language: str | None
    ) -> None:
        self.begins = marks.begins(source_language, target_language)
        self.knows_tags = marks.knows_tags
        self._marks = marks
        self._source = source_language or marks.source_language
        self._target = target_language or marks.target_language

    def default(self, rows: Tensor) -> Marks:
        """Returns the marks of rows that name no language."""
        return Marks(_tiled(self.begins.source, rows), _tiled(self.begins.target, rows))

    def between(self, source_codes: Tensor, target_codes: Tensor) -> Marks:
        """Returns the marks of rows between languages of their own.

        Args:
            source_codes: string `(batch,)`, "" for the default.
            target_codes: string `(batch,)`, "" for the default.
        """
        own = self._marks
        source, target = (_tiled(ids, target_codes) for ids in (own.source, own.target))
        into = self._ids("target_language", target_codes, self._target)
        if own.languages_in == "source":
            told = tf.debugging.Assert(
                tf.reduce_all(source_codes == ""),
                ["the model is not told the source's language: leave it out, got", source_codes],
            )
            with tf.control_dependencies([told]):
                return Marks(tf.concat([source, into], axis=1), target)
        spoken = self._ids("source_language", source_codes, self._source)
        return Marks(tf.concat([source, spoken], axis=1), tf.concat([target, into], axis=1))

    def read_tags(self, texts: Tensor) -> tuple[Tensor, Tensor]:
        """Returns texts without the tags that they begin with, and the codes in these.

        Args:
            texts: string `(batch,)`; a code is "" if there is no tag, or the model knows none.
        """
        if not self.knows_tags:
            return texts, tf.fill(tf.shape(texts), "")
        has_tag = tf.strings.regex_full_match(texts, _TEXT_WITH_TAG)
        codes, rests = (
            tf.strings.regex_replace(texts, f"^{_TEXT_WITH_TAG}$", part) for part in (r"\1", r"\2")
        )
        return tf.where(has_tag, rests, texts), tf.where(has_tag, codes, "")

    def _ids(self, name: str, codes: Tensor, default: str | None) -> Tensor:
        """Returns the id of each code: int32 `(batch, 1)`."""
        codes = tf.where(codes == "", default or "", codes)
        found = codes[:, None] == tf.constant(list(self._marks.languages))
        known = tf.debugging.Assert(
            tf.reduce_all(tf.reduce_any(found, axis=1)),
            [f"{name} must be one of {self._marks.shown_languages}, got", codes],
        )
        with tf.control_dependencies([known]):
            ids = tf.where(found, tf.constant([*self._marks.languages.values()], tf.int32), 0)
            return tf.reduce_sum(ids, axis=1, keepdims=True)


def _tiled(marks: tuple[int, ...], rows: Tensor) -> Tensor:
    row = tf.constant([marks], tf.int32, shape=(1, len(marks)))
    return tf.tile(row, [tf.shape(rows)[0], 1])
