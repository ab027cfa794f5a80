"""The tokens that each sentence of a file has for a model whose vocabulary was trained on such
text.
"""

from collections.abc import Sequence
from pathlib import Path

from keras_transformer.data.sources.files import read_lines
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer

_MOST_PIECES = 8000


def text_lengths(path: Path, vocab_size: int, most: int) -> list[int]:
    """Returns the tokens of the first sentences of a file, the end token included.

    Args:
        path: Sentences, one a line, plain or gzip; empty ones are left out.
        vocab_size: Ids of the model.
        most: Number of sentences.

    Raises:
        ValueError: The file holds no sentence.
    """
    sentences = read_sentences(path)
    tokenizer = vocabulary_of(sentences, vocab_size)
    return [len(ids) + 1 for ids in tokenizer.encode(sentences[:most])]


def read_sentences(path: Path) -> list[str]:
    """Returns a file's lines that are not empty; raises ValueError if there is none."""
    sentences = [line for line in read_lines(path) if line.strip()]
    if not sentences:
        raise ValueError(f"{path} holds no sentence.")
    return sentences


def vocabulary_of(sentences: Sequence[str], vocab_size: int) -> Tokenizer:
    """Trains a vocabulary of the sentences' own words, no larger than a model's.

    The random run's vocabulary holds made-up words, which would cut real ones to pieces.
    """
    # No more pieces than words: a short file cannot fill a larger vocabulary.
    words = {word for sentence in sentences for word in sentence.split()}
    return train_tokenizer(sentences, min(vocab_size, _MOST_PIECES, len(words)), "bpe")
