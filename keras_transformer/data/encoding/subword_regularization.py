"""Subword regularization: a new segmentation of the pairs for every epoch (Kudo 2018; for BPE the
dropout of Provilkov et al. 2020).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from keras_transformer.data.batching.assembly import (
    in_order,
    padded_batch,
    source_rows,
    target_rows,
    worker_share,
)
from keras_transformer.data.batching.in_memory import MemoryReader, plan_pairs, training_rows
from keras_transformer.data.batching.plan import Plan, order_pairs
from keras_transformer.data.batching.reading import Place, reader_of
from keras_transformer.data.encoding.id_pairs import EncodedPairs, RaggedIds
from keras_transformer.data.sources.corpus import Pairs
from keras_transformer.text.sentencepiece_messages import BPE, UNIGRAM, read_message
from keras_transformer.text.tokenizer import ModelType, Tokenizer

# `Tokenizer.sample`'s alpha: Kudo's exponent, milder for a small model; Provilkov's dropout.
_ALPHA: dict[ModelType, float] = {"unigram": 0.3, "bpe": 0.1}


def segmentation_type(tokenizer: Tokenizer) -> ModelType:
    """Returns the kind of a SentencePiece model, "unigram" or "bpe".

    Raises:
        ValueError: The model is of another kind, which has only one segmentation.
    """
    if tokenizer.kind != "sentencepiece":
        raise ValueError(
            "subword_sampling needs a SentencePiece model, and a tokenizer.json gives every text "
            "one segmentation: leave subword_sampling out."
        )
    model = read_message(tokenizer.model)
    kinds: dict[int, ModelType] = {UNIGRAM: "unigram", BPE: "bpe"}
    kind = kinds.get(model.trainer_spec.model_type)
    if kind is None:
        raise ValueError(
            "subword_sampling needs a unigram or BPE model, and the tokenizer given splits words "
            "or characters: leave subword_sampling out."
        )
    return kind


@dataclass(frozen=True)
class ResegmentedPairs(EncodedPairs):
    """Pairs with their texts, to be segmented again.

    The ids of `EncodedPairs` are the best segmentations. They decide how many pairs each batch has,
    so that all epochs have the same number of batches; the drawn lengths decide which pairs these
    are. A drawn segmentation is a tenth longer on average, so a batch may be longer too.

    Attributes:
        source_texts: The source sentences, in the order of the ids' rows.
        target_texts: The target sentences.
        source_tokenizer: Segments the source side.
        target_tokenizer: Segments the target side.
        alpha: For a unigram model the exponent of a segmentation's probability (Kudo 2018); for BPE
            the probability that a merge is left out (Provilkov et al. 2020).
        max_length: Longest sequence in tokens, eos or bos included; if a drawn row is longer, the
            best segmentation replaces it.
    """

    source_texts: tuple[str, ...]
    target_texts: tuple[str, ...]
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    alpha: float
    max_length: int

    @classmethod
    def from_encoded(
        cls,
        encoded: EncodedPairs,
        pairs: Pairs,
        source_tokenizer: Tokenizer,
        target_tokenizer: Tokenizer,
        tokenizer_type: ModelType,
        max_length: int,
    ) -> "ResegmentedPairs":
        """Joins `encode_pairs`'s result to the texts and tokenizers that it came from."""
        return cls(
            encoded.source,
            encoded.target,
            encoded.report,
            encoded.pair_numbers,
            encoded.special_ids,
            tuple(pairs.source[number] for number in encoded.pair_numbers),
            tuple(pairs.target[number] for number in encoded.pair_numbers),
            source_tokenizer,
            target_tokenizer,
            _ALPHA[tokenizer_type],
            max_length,
            begins=encoded.begins,
        )

    def draw(self, seed: int, epoch: int) -> tuple[RaggedIds, RaggedIds]:
        """Returns the source and target rows of one epoch; the same seed gives the same rows."""
        sides = (
            (self.source_tokenizer, self.source_texts, self.source),
            (self.target_tokenizer, self.target_texts, self.target),
        )
        source, target = (
            self._draw_side(tokenizer, texts, best, (seed, epoch, side))
            for side, (tokenizer, texts, best) in enumerate(sides)
        )
        return source, target

    def _draw_side(
        self,
        tokenizer: Tokenizer,
        texts: Sequence[str],
        best: RaggedIds,
        seed: tuple[int, int, int],
    ) -> RaggedIds:
        word = int(np.random.SeedSequence([number % 2**64 for number in seed]).generate_state(1)[0])
        rows: list[Sequence[int]] = list(tokenizer.sample(texts, self.alpha, word))
        for number, row in enumerate(rows):
            if len(row) >= self.max_length:
                rows[number] = best[number].tolist()
        return RaggedIds.from_rows(rows)


@reader_of.register(ResegmentedPairs)
class ResegmentingReader(MemoryReader):
    """Reads `ResegmentedPairs`; evaluation uses their best segmentation.

    Args:
        pairs: The pairs.
    """

    pairs: ResegmentedPairs

    def order(
        self, plan: Plan, seed: int, epoch: int
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Returns `order` and `groups` of an epoch, as in `Plan`, by the drawn lengths."""
        return _order(*self.pairs.draw(seed, epoch))

    def training(self, place: Place) -> tf.data.Dataset:
        """As `training_batches`: draws an epoch during training on the previous one."""
        special_ids = self.pairs.special_ids

        def draw(epoch: npt.NDArray[np.int64]) -> tuple[npt.NDArray, ...]:
            source, target = self.pairs.draw(place.seed, int(epoch))
            order = _order(source, target)
            source = source_rows(source, special_ids, self.pairs.begins)
            target = target_rows(target, special_ids, self.pairs.begins)
            return source.values, target.values, source.offsets, target.offsets, *order

        def drawn_epoch(epoch: tf.Tensor) -> tuple[tf.Tensor, ...]:
            parts = tf.numpy_function(draw, [epoch], [tf.int32] * 2 + [tf.int64] * 4)
            for part in parts:
                part.set_shape((None,))
            return epoch, *parts

        def batches(epoch: tf.Tensor, *parts: tf.Tensor) -> tf.data.Dataset:
            source_ids, target_ids, source_offsets, target_offsets, *order = parts
            source = tf.RaggedTensor.from_row_splits(source_ids, source_offsets, validate=False)
            target = tf.RaggedTensor.from_row_splits(target_ids, target_offsets, validate=False)
            return rows_of_epoch(epoch, *order).map(
                lambda rows: padded_batch(
                    source, target, *worker_share(rows, place.worker), special_ids.pad
                )
            )

        starts = plan_pairs(self.pairs, place.batch_tokens).starts
        epochs, rows_of_epoch = training_rows(starts, place)
        dataset = epochs.map(drawn_epoch).prefetch(1).flat_map(batches)
        endless = tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
        return in_order(dataset.apply(endless))


def _order(
    source: RaggedIds, target: RaggedIds
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    return order_pairs(source.lengths, target.lengths)
