"""Rows of tagged texts, with a tag at the first token of each word."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from keras_transformer.data.encoding.encode import NO_WORD, tokenize_words
from keras_transformer.data.encoding.single_texts import EncodedTexts, kept_rows
from keras_transformer.data.objectives.labels import NO_TAG
from keras_transformer.data.objectives.objective import Objective
from keras_transformer.data.sources.tagged import TaggedTexts
from keras_transformer.text.layout import encoder_row
from keras_transformer.text.tokenizer import Tokenizer


def encode_tagged(
    texts: TaggedTexts,
    tokenizer: Tokenizer,
    objective: Objective,
    max_length: int,
    classes: Sequence[str],
) -> EncodedTexts:
    """Makes rows `bos text eos` of words that are tokenized one by one.

    Args:
        texts: Words with tags.
        tokenizer: Reads the words.
        objective: Makes batches of the rows.
        max_length: Longest row in tokens; longer ones are dropped, as texts without a token are.
        classes: The tags, in the order of their numbers.

    Raises:
        ValueError: No text is left, or `max_length` is below 2.
    """
    ids, words = tokenize_words(texts.words, tokenizer)
    encoded = kept_rows(
        [
            encoder_row(ids[line].tolist(), None, tokenizer.special_ids)[0]
            for line in range(len(ids))
        ],
        ids.lengths == 0,
        max_length,
        texts.origin,
        special_ids=tokenizer.special_ids,
        objective=objective,
        words=[words],
    )
    numbers = {tag: number for number, tag in enumerate(classes)}
    of_words = np.asarray([numbers[tag] for row in texts.tags for tag in row], np.int32)
    read: Any = encoded.token_words
    # Between the words of two rows stands an eos, which is of none.
    is_first = (read != NO_WORD) & (np.diff(read, prepend=NO_WORD) != 0)
    return replace(encoded, token_classes=np.where(is_first, of_words[read], NO_TAG))
