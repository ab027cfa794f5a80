"""Tiny models with random weights, and the vocabularies that other toolkits' forms need."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from keras_transformer.config import TransformerConfig
from keras_transformer.models.transformer import build_transformer
from keras_transformer.pretrained.sentencepiece_models import tokenizer_of
from keras_transformer.pretrained.weight_table import NEVER
from keras_transformer.text.sentencepiece_messages import read_message
from keras_transformer.text.tokenizer import Tokenizer

SIZES = {
    "model_dim": 16,
    "feed_forward_dim": 24,
    "num_heads": 2,
    "num_encoder_layers": 2,
    "num_decoder_layers": 1,
}


class Numbers(NamedTuple):
    """Ids to compare two models on."""

    source_ids: np.ndarray
    target_ids: np.ndarray


@pytest.fixture(scope="session")
def marian_tokenizer(tokenizer: Tokenizer) -> Tokenizer:
    """As `tokenizer`, with the padding last and no bos, as Marian's become when they are read."""
    model = read_message(tokenizer.model)
    names = [piece.piece for piece in model.pieces if piece.piece not in ("<pad>", "<s>")]
    ids = {name: token for token, name in enumerate(names)}
    return tokenizer_of(model, ids=ids, vocab_size=len(ids) + 1)


@pytest.fixture(scope="session")
def translator_of(randomize: Callable[..., Any]) -> Callable[..., Any]:
    """`translator_of(tokenizer, **fields)`: an encoder-decoder with random weights."""

    def make(tokenizer: Tokenizer, **fields: Any) -> Any:
        values = {**SIZES, "special_ids": tokenizer.special_ids, **fields}
        config = TransformerConfig(source_vocab_size=tokenizer.vocab_size, **values)
        model = randomize(build_transformer(config), scale=0.3)
        if config.relative_buckets is not None:
            model.target_embeddings.tokens.matrix.assign(model.source_embeddings.tokens.matrix)
        return model

    return make


@pytest.fixture(scope="session")
def marian_model(
    translator_of: Callable[..., Any], marian_tokenizer: Tokenizer
) -> Callable[..., Any]:
    """`marian_model(**fields)`: of the form that Marian's have, which begin with zeros."""

    def make(**fields: Any) -> Any:
        last = marian_tokenizer.vocab_size - 1
        special = marian_tokenizer.special_ids
        model = translator_of(
            marian_tokenizer,
            **{
                "sinusoid_layout": "tensor2tensor",
                "layer_norm_epsilon": 1e-9,
                "logit_bias": True,
                "special_ids": type(special)(**{**special.to_dict(), "decoder_start": last}),
                **fields,
            },
        )
        for embeddings in (model.source_embeddings, model.target_embeddings):
            matrix = np.array(embeddings.tokens.matrix)
            matrix[last] = 0.0
            embeddings.tokens.matrix.assign(matrix)
        bias = np.array(model.head.bias)
        bias[last] = NEVER
        model.head.bias.assign(bias)
        if model.head.linear is not None:
            kernel = np.array(model.head.linear.kernel)
            kernel[:, last] = 0.0
            model.head.linear.kernel.assign(kernel)
        return model

    return make


@pytest.fixture(scope="session")
def numbers() -> Callable[..., Numbers]:
    """`numbers(config)`: two rows of ids, the second padded."""

    def make(config: TransformerConfig) -> Numbers:
        special = config.special_ids
        text = special.text_ids(config.source_vocab_size)
        rows = np.random.default_rng(0).choice(text, (2, 9))
        rows[1, 5:] = special.pad
        target = np.concatenate([np.full((2, 1), special.decoder_start), rows[:, ::-1]], axis=1)
        target[1] = [special.decoder_start, *rows[1, :5], *[special.pad] * 4]
        return Numbers(rows, target)

    return make
