"""`EncodedPairs` of parallel text, tokenized by TensorFlow, with a report of what was dropped."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import tensorflow as tf

from keras_transformer.data.batching.assembly import PARALLEL_CALLS
from keras_transformer.data.encoding.id_pairs import (
    EncodedPairs,
    FilterReport,
    RaggedIds,
    filter_pairs,
)
from keras_transformer.data.sources.corpus import Pairs
from keras_transformer.text.graph_tokenizer import GraphTokenizer, can_be_read_in_graphs
from keras_transformer.text.subwords.interface import words_in_text
from keras_transformer.text.tokenizer import Tokenizer

# The compact forms are public here too, beside the function that makes them.
__all__ = ["EncodedPairs", "FilterReport", "RaggedIds", "encode_pairs"]

# Large enough to keep the operator's threads busy, small enough to hold few strings twice.
_BLOCK = 4096


def encode_pairs(
    pairs: Pairs,
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    max_length: int | None = 256,
) -> EncodedPairs:
    """Tokenizes pairs and drops those that are empty or too long.

    Args:
        pairs: The sentences.
        source_tokenizer: Its model reads the source side.
        target_tokenizer: Its model reads the target side; may be the same.
        max_length: Longest sequence kept on either side, in tokens, with the eos (source) or bos
            (target) that a batch adds; None keeps every length.

    Returns:
        The kept pairs, in order, and the report of what was dropped.

    Raises:
        ValueError: No pair is left, or `max_length` is below 2.
    """
    source = tokenize(pairs.source, source_tokenizer)
    target = tokenize(pairs.target, target_tokenizer)
    return filter_pairs(source, target, max_length, pairs.origin, source_tokenizer.special_ids)


def tokenize(texts: Sequence[str], tokenizer: Tokenizer) -> RaggedIds:
    """Returns the ids of each text, without special ids.

    They are made by TensorFlow's operator if it has one for the vocabulary.
    """
    blocks = (list(texts[start : start + _BLOCK]) for start in range(0, len(texts), _BLOCK))
    if can_be_read_in_graphs(tokenizer):
        return _by_operators(blocks, GraphTokenizer(tokenizer.model))
    parts = [RaggedIds.from_rows(tokenizer.encode(block)) for block in blocks]
    values = [np.zeros(0, np.int32), *(part.values for part in parts)]
    lengths = [np.zeros(0, np.int64), *(part.lengths for part in parts)]
    return RaggedIds.from_lengths(np.concatenate(values), np.concatenate(lengths))


# Stands for no word.
NO_WORD = -1


def tokenize_words(
    texts: Sequence[Sequence[str]], tokenizer: Tokenizer
) -> tuple[RaggedIds, RaggedIds]:
    """Returns the ids of texts whose words are tokenized one by one, without special ids.

    Args:
        texts: The words of each text.
        tokenizer: Reads the words.

    Returns:
        The ids of each text, and for each id the number of its word among the words of all texts.
    """
    flat = tokenize(
        [word for text in texts for word in words_in_text(text, tokenizer.subwords)], tokenizer
    )
    ends = flat.offsets[np.cumsum([0, *map(len, texts)])]
    owners = np.repeat(np.arange(len(flat), dtype=np.int32), flat.lengths)
    return RaggedIds(flat.values, ends), RaggedIds(owners, ends)


def _by_operators(blocks: Iterator[list[str]], reader: GraphTokenizer) -> RaggedIds:
    def ids(block: list[str]) -> tuple[np.ndarray, np.ndarray]:
        found = reader.tokenize(tf.constant(block, tf.string))
        return found.flat_values.numpy(), found.row_lengths().numpy()

    values, lengths = [np.zeros(0, np.int32)], [np.zeros(0, np.int64)]
    # Threads, as operators run beside Python; a graph for so few calls takes longer to trace.
    with ThreadPoolExecutor(PARALLEL_CALLS) as threads:
        for block_values, block_lengths in threads.map(ids, blocks):
            values.append(block_values)
            lengths.append(block_lengths)
    return RaggedIds.from_lengths(np.concatenate(values), np.concatenate(lengths))
