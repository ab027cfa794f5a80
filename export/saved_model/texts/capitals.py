"""Capitals by rule in a graph, as `markup.casing` has them: a text in capitals is read as a
sentence, and its translation written in capitals. A graph finds no spans, so that what may hold one
stays as it is.
"""

import tensorflow as tf

from keras_transformer.tensors import Tensor
from keras_transformer.text.training_text import FEWEST_CAPITALS

# A letter that is no capital; "ª" and "º" are of neither case in Unicode's categories alone.
_NO_CAPITAL = r"(?s).*[\p{Ll}\p{Lt}ªº].*"
# What placeholders, tags, entities, addresses, paths, accelerators and Markdown have.
_OF_SPANS = r"(?s).*[%{}<>&$\\@/_*`#\[\]|~^].*"
# Each character by what it is to the beginning of a sentence; the first that fits.
_KINDS = {
    r"[\p{L}\p{Nl}\p{No}]": "a",
    r"\p{Nd}": "0",
    "_": "_",
    "[.!?…]": ".",
    r"[\s\v\p{Z}\x{1c}-\x{1f}\x{85}]": " ",
}
# The letters that begin a text, or what follows the end of a sentence.
_BEGINNING = r"(^|\.[. -]* )([. _-]*)a"


def are_in_capitals(texts: Tensor, fewest: int = FEWEST_CAPITALS) -> Tensor:
    """Returns which texts `(batch,)` have only capitals, so many at least, and nothing that may be
    a span: boolean `(batch,)`.
    """
    return (
        # No text of malformed bytes matches.
        tf.strings.regex_full_match(texts, rf"(?s)(.*\p{{Lu}}){{{fewest}}}.*")
        & ~tf.strings.regex_full_match(texts, _NO_CAPITAL)
        & ~tf.strings.regex_full_match(texts, _OF_SPANS)
    )


def recased(texts: Tensor) -> Tensor:
    """Returns texts `(batch,)` as sentences are written, as `markup.casing.recased` does."""
    characters = tf.strings.unicode_split(tf.strings.lower(texts, encoding="utf-8"), "UTF-8")
    each = characters.flat_values
    kinds = tf.fill(tf.shape(each), "-")
    for expression, kind in reversed(_KINDS.items()):
        kinds = tf.where(tf.strings.regex_full_match(each, expression), kind, kinds)
    marked = tf.strings.regex_replace(_joined(characters, kinds), _BEGINNING, r"\1\2A")
    begins = tf.strings.bytes_split(marked).flat_values == "A"
    return _joined(characters, tf.where(begins, tf.strings.upper(each, encoding="utf-8"), each))


def recased_where(chosen: Tensor, texts: Tensor) -> Tensor:
    """Returns texts `(batch,)`, the chosen ones recased; most batches have none."""
    return tf.cond(
        tf.reduce_any(chosen), lambda: tf.where(chosen, recased(texts), texts), lambda: texts
    )


def in_capitals(texts: Tensor) -> Tensor:
    """Returns texts of any shape in capitals."""
    return tf.strings.upper(texts, encoding="utf-8")


def _joined(rows: tf.RaggedTensor, values: Tensor) -> Tensor:
    """Returns the strings `(batch,)` of characters that are in the places of others."""
    return tf.strings.reduce_join(rows.with_flat_values(values), axis=-1)
