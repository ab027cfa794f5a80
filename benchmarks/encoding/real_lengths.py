"""Takes a file of sentences and returns rows of ids as long as these sentences are for a model
whose vocabulary was trained on such text.
"""

from pathlib import Path

from keras_transformer.data.sources.files import read_lines
from keras_transformer.text.layout import encoder_row
from keras_transformer.text.tokenizer import train_tokenizer

from .sizes import EncoderSize

_MOST_PIECES = 8000


def real_rows(size: EncoderSize, path: Path, most: int) -> list[list[int]]:
    """Returns rows of the first sentences of a file.

    The random run's vocabulary holds made-up words, which would cut real ones to pieces: a
    vocabulary of the file's own words says how long its sentences are, with ids that the model has.

    Args:
        size: The model whose ids they are.
        path: Sentences, one a line, plain or gzip.
        most: Number of sentences.

    Raises:
        ValueError: The file is empty.
    """
    sentences = read_lines(path)
    if not sentences:
        raise ValueError(f"{path} holds no sentence.")
    # No more pieces than words: a short file cannot fill a larger vocabulary.
    words = {word for sentence in sentences for word in sentence.split()}
    pieces = min(size.vocab_size, _MOST_PIECES, len(words))
    tokenizer = train_tokenizer(sentences, pieces, "bpe")
    rows = [
        encoder_row(ids, None, tokenizer.special_ids)[0]
        for ids in tokenizer.encode(sentences[:most])
    ]
    return [row[: size.longest] for row in rows]
