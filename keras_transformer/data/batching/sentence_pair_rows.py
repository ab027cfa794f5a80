"""Batches for next-sentence prediction (Devlin et al. 2018, section 3.1): half of the pairs have a
random sentence of another document in the place of the next one.
"""

from collections.abc import Callable

import tensorflow as tf

from keras_transformer.data.batching.reading import reader_of
from keras_transformer.data.batching.text_rows import TextReader, padded_rows
from keras_transformer.data.encoding.sentence_pairs import EncodedSentencePairs
from keras_transformer.data.objectives.objective import Rows

# Random sentences drawn for each pair, of which the first of another document is taken.
_TRIES = 8


@reader_of.register(EncodedSentencePairs)
class SentencePairReader(TextReader):
    """Reads `EncodedSentencePairs`; a row's class is 1 if its second sentence is a random one.

    Args:
        texts: The pairs.
    """

    texts: EncodedSentencePairs

    def _reading(self) -> Callable[[tf.Tensor, tf.Tensor], Rows]:
        texts, special_ids = self.texts, self.texts.special_ids
        sentences = tf.RaggedTensor.from_row_splits(
            texts.sentences.values, texts.sentences.offsets, validate=False
        )
        firsts, second_starts = tf.constant(texts.firsts), tf.constant(texts.second_starts)
        documents, by_length = tf.constant(texts.documents), tf.constant(texts.by_length)
        candidates = tf.constant(texts.candidates)

        def read(rows: tf.Tensor, seed: tf.Tensor) -> Rows:
            first = tf.gather(firsts, rows)
            second, is_random = _second_sentences(
                first, tf.gather(candidates, rows), by_length, documents, seed
            )
            eos = tf.fill((tf.size(rows), 1), special_ids.eos)
            parts = [tf.gather(sentences, first), eos, tf.gather(sentences, second), eos]
            if special_ids.bos is not None:
                parts.insert(0, tf.fill((tf.size(rows), 1), special_ids.bos))
            if special_ids.cls is not None:
                parts.append(tf.fill((tf.size(rows), 1), special_ids.cls))
            return padded_rows(
                tf.concat(parts, axis=1),
                tf.gather(second_starts, rows),
                tf.cast(is_random, tf.int32),
                special_ids,
            )

        return read


def _second_sentences(
    first: tf.Tensor,
    candidates: tf.Tensor,
    by_length: tf.Tensor,
    documents: tf.Tensor,
    seed: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Draws what follows each first sentence: its number, and whether it is a random one.

    A pair whose draws are all of its own document keeps its next sentence.

    Args:
        first: The numbers of the first sentences: int64 (B,).
        candidates: As in `EncodedSentencePairs`, of these rows.
        by_length: As in `EncodedSentencePairs`.
        documents: As in `EncodedSentencePairs`.
        seed: int64 (2,).
    """
    # Not the seed itself, from which the objective draws.
    own = tf.random.fold_in(seed, 1, alg="philox")
    tossing, choosing = tf.unstack(tf.random.split(own, 2, alg="philox"))
    begins, ends = tf.unstack(candidates[:, None, :], axis=2)  # [B, 1]
    shape = tf.stack([tf.size(first), _TRIES])
    noise = tf.random.stateless_uniform(shape, choosing, dtype=tf.float64, alg="philox")
    places = begins + tf.cast(noise * tf.cast(ends - begins, tf.float64), tf.int64)
    drawn = tf.gather(by_length, places)
    is_foreign = tf.gather(documents, drawn) != tf.gather(documents, first)[:, None]
    heads = tf.random.stateless_uniform(tf.shape(first), tossing, alg="philox") < 0.5
    is_random = heads & tf.reduce_any(is_foreign, axis=1)
    chosen = tf.argmax(tf.cast(is_foreign, tf.int32), axis=1)  # the first that is
    return tf.where(is_random, tf.gather(drawn, chosen, batch_dims=1), first + 1), is_random
