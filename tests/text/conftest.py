"""Tokenizers trained once on a small made-up corpus."""

import pytest

from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer

SUBJECTS = ("the old man", "a small dog", "my tall sister", "der Bäcker", "la niña", "l'élève")
VERBS = ("sees", "doesn't like", "is painting", "hört", "come", "regarde")
OBJECTS = ("the red house.", "two cats!", "a bridge over the river?", "¿qué?", "die Straße", "12.5")


@pytest.fixture(scope="session")
def sentences() -> list[str]:
    return [f"{s} {v} {o}" for s in SUBJECTS for v in VERBS for o in OBJECTS]


@pytest.fixture(scope="session", params=["unigram", "bpe", "unigram-bytes", "bpe-bytes"])
def tokenizer(request: pytest.FixtureRequest, sentences: list[str]) -> Tokenizer:
    model_type, _, with_bytes = request.param.partition("-")
    return train_tokenizer(
        sentences, 316 if with_bytes else 60, model_type, byte_fallback=bool(with_bytes)
    )
