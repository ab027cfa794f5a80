"""Rows of ids as long as the sentences of a file are for a model whose vocabulary was trained on
such text.
"""

from pathlib import Path

from speed.text_lengths import read_sentences, vocabulary_of

from keras_transformer.text.layout import encoder_row

from .sizes import EncoderSize


def real_rows(size: EncoderSize, path: Path, most: int) -> list[list[int]]:
    """Returns rows of the first sentences of a file.

    Args:
        size: The model whose ids they are.
        path: Sentences, one a line, plain or gzip.
        most: Number of sentences.

    Raises:
        ValueError: The file holds no sentence.
    """
    sentences = read_sentences(path)
    tokenizer = vocabulary_of(sentences, size.vocab_size)
    rows = [
        encoder_row(ids, None, tokenizer.special_ids)[0]
        for ids in tokenizer.encode(sentences[:most])
    ]
    return [row[: size.longest] for row in rows]
