"""Rows of tagged texts, with a tag at the first token of each word."""

from collections.abc import Sequence

import numpy as np

from keras_transformer.data.encoding.encode import NO_WORD, tokenize_words
from keras_transformer.data.encoding.id_pairs import RaggedIds, TextReport, check_max_length
from keras_transformer.data.encoding.single_texts import EncodedTexts
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
    check_max_length(max_length)
    special_ids = tokenizer.special_ids
    numbers = {tag: number for number, tag in enumerate(classes)}
    texts_ids, texts_words = tokenize_words(texts.words, tokenizer)
    of_words = np.asarray([numbers[tag] for row in texts.tags for tag in row], np.int32)
    rows, tags, words, kept = [], [], [], []
    empty = 0
    for line in range(len(texts)):
        ids, own = texts_ids[line].tolist(), texts_words[line]
        row, _ = encoder_row(ids, None, special_ids)
        empty += not ids
        if ids and len(row) <= max_length:
            rows.append(row)
            is_first = np.diff(own, prepend=NO_WORD) != 0
            begin = int(special_ids.bos is not None)
            around = (begin, len(row) - len(ids) - begin)
            own_tags = np.where(is_first, of_words[own], NO_TAG)
            tags.append(np.pad(own_tags, around, constant_values=NO_TAG))
            words.append(np.pad(own, around, constant_values=NO_WORD))
            kept.append(line)
    report = TextReport(len(texts), len(rows), empty, len(texts) - len(rows) - empty, max_length)
    if not rows:
        raise ValueError(
            f"no text of {texts.origin} is left: {report}; check the text and max_length"
        )
    packed = RaggedIds.from_rows(rows)
    return EncodedTexts(
        packed,
        packed.lengths,
        np.zeros(len(rows), np.int32),
        report,
        np.asarray(kept, np.int64),
        special_ids,
        objective,
        np.concatenate(tags),
        np.concatenate(words),
    )
