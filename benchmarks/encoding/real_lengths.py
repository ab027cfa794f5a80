"""Rows of ids as long as the sentences of a file are for a model whose vocabulary was trained on
such text.
"""

from pathlib import Path

from speed.text_lengths import read_sentences, vocabulary_of

from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.text.layout import encoder_row

from .sizes import EncoderSize


def real_rows(size: EncoderSize, path: Path, most: int) -> list[list[int]]:
    """Returns rows of the first sentences of a file, of a trained run's vocabulary if there is one.

    Args:
        size: The model whose ids they are.
        path: Sentences, one a line, plain or gzip.
        most: Number of sentences.

    Raises:
        ValueError: The file holds no sentence.
    """
    sentences = read_sentences(path)
    if size.run is None:
        tokenizer = vocabulary_of(sentences, size.vocab_size)
    else:
        tokenizer, _ = RunDirectory(size.run).load_tokenizers()
    rows = [
        encoder_row(ids, None, tokenizer.special_ids)[0]
        for ids in tokenizer.encode(sentences[:most])
    ]
    return [row[: size.longest] for row in rows]
