"""Random text is drawn as the vocabulary says: special ids never, frequent pieces often."""

import numpy as np
import pytest

from keras_transformer.text.tokenizer import train_tokenizer
from keras_transformer.training.transfer.rehearsal import piece_probabilities

LINES = [
    f"{a} {b} the {c}" for a in ("red", "blue") for b in ("dog", "cat") for c in ("a", "b", "é")
]


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_probabilities_are_those_of_text_alone(kind: str) -> None:
    tokenizer = train_tokenizer(LINES, vocab_size=18, model_type=kind)
    found = piece_probabilities(tokenizer)
    assert found.shape == (tokenizer.vocab_size,)
    assert found.sum() == pytest.approx(1)
    assert not found[sorted(tokenizer.special_ids.without_text)].any()
    drawn = np.flatnonzero(found)
    assert all(text.strip() for text in tokenizer.decode([[token] for token in drawn]))
    assert len(drawn) >= 10


def test_a_unigram_model_says_how_likely_its_pieces_are() -> None:
    tokenizer = train_tokenizer(LINES, vocab_size=18)
    found = piece_probabilities(tokenizer)
    [the], [rare] = tokenizer.encode(["the", "é"])[0][-1:], tokenizer.encode(["é"])[0][-1:]
    assert found[the] > 2 * found[rare] > 0
