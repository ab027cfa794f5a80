"""Texts without labels among those with: rows that the model's other views learn from."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from keras_transformer.data.encoding.id_pairs import RaggedIds, TextReport
from keras_transformer.data.encoding.single_texts import EncodedTexts, encode_for_encoder
from keras_transformer.data.encoding.tagged import encode_tagged
from keras_transformer.data.objectives.labels import NO_TAG, UNLABELLED
from keras_transformer.data.sources.tagged import TaggedTexts
from keras_transformer.data.sources.texts import Texts
from keras_transformer.text.tokenizer import Tokenizer


def with_unlabelled(
    labelled: EncodedTexts, lines: Sequence[str], origin: str, tokenizer: Tokenizer, max_length: int
) -> tuple[EncodedTexts, TextReport]:
    """Returns rows with and without labels, and what was dropped of the latter.

    Those with labels are repeated until they are as many as the others, so that each batch has
    both: learning goes on in turns (Clark et al. 2018, section 2).

    Args:
        labelled: Rows with a label each, or with tags.
        lines: Texts without labels; of taggers words with spaces between.
        origin: Where they come from, for messages.
        tokenizer: Reads them.
        max_length: Longest row in tokens.

    Raises:
        ValueError: No text without a label is left.
    """
    added: EncodedTexts
    tags = None
    if labelled.token_classes is None:
        texts = Texts(lines, origin)
        added = encode_for_encoder(texts, tokenizer, labelled.objective, max_length)
        added = replace(added, classes=np.full(len(added), UNLABELLED, np.int32))
    else:
        words = [line.split() for line in lines]
        tagged = TaggedTexts(words, [[""] * len(row) for row in words], origin)
        added = encode_tagged(tagged, tokenizer, labelled.objective, max_length, [""])
    # As often as makes them as many, and at least once.
    repeats = max(1, -(-len(added) // len(labelled)))
    order = np.tile(np.arange(len(labelled)), repeats)
    if labelled.token_classes is not None and added.token_classes is not None:
        own = RaggedIds(labelled.token_classes, labelled.rows.offsets).take(order).values
        is_word = added.token_classes != NO_TAG
        tags = np.concatenate([own, np.where(is_word, UNLABELLED, NO_TAG).astype(np.int32)])
    rows = labelled.rows.take(order)
    joined = replace(
        labelled,
        rows=RaggedIds.from_lengths(
            np.concatenate([rows.values, added.rows.values]),
            np.concatenate([rows.lengths, added.rows.lengths]),
        ),
        second_starts=np.concatenate([labelled.second_starts[order], added.second_starts]),
        classes=np.concatenate([labelled.classes[order], added.classes]),
        line_numbers=np.concatenate(
            [labelled.line_numbers[order], labelled.report.total + added.line_numbers]
        ),
        token_classes=tags,
    )
    return joined, added.report
