"""Probabilities of a vocabulary's pieces, for drawing random text. Needs no TensorFlow."""

import numpy as np
import numpy.typing as npt

from keras_transformer.text.sentencepiece_messages import NORMAL, UNIGRAM, read_message
from keras_transformer.text.tokenizer import Tokenizer


def piece_probabilities(tokenizer: Tokenizer) -> npt.NDArray[np.float64]:
    """Returns the probability of each id of a vocabulary, `(vocab_size,)`; special ids have 0.

    A unigram model of SentencePiece holds them (Kudo 2018). Vocabularies of other kinds list the
    pieces that were merged or chosen first, the frequent ones, before the others, so a piece gets
    the inverse of its place among them (Zipf's law).

    Args:
        tokenizer: Reads the vocabulary.
    """
    texts = tokenizer.decode([[token] for token in range(tokenizer.vocab_size)])
    # A byte alone is no text.
    is_text = np.array(
        [bool(text.strip()) and "\N{REPLACEMENT CHARACTER}" not in text for text in texts]
    )
    weights = _unigram_weights(tokenizer) if tokenizer.kind == "sentencepiece" else None
    if weights is None:
        weights = 1 / np.maximum(np.cumsum(is_text), 1)
    weights = np.where(is_text, weights, 0)
    return weights / weights.sum()


def _unigram_weights(tokenizer: Tokenizer) -> npt.NDArray[np.float64] | None:
    """Returns the probabilities in a SentencePiece model; None if it is of another kind."""
    model = read_message(tokenizer.model)
    if model.trainer_spec.model_type != UNIGRAM:
        return None
    weights = np.zeros(tokenizer.vocab_size)
    for token, piece in enumerate(model.pieces[: tokenizer.vocab_size]):
        if piece.type == NORMAL:
            weights[token] = np.exp(piece.score)
    return weights
