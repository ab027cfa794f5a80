"""The CTranslate2 generator is the Keras decoder: same ids, same probabilities."""

from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import pytest
from generation.ctranslate2_model import VOCABULARY, write_ctranslate2_generator
from speed.random_run import randomize, synthetic_tokenizer

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.models.decoder_only import build_decoder
from keras_transformer.text.tokenizer import Tokenizer

PIECES = 120
START = 2
LENGTH = 6
PROMPTS = [[17, 5, 99, 42, 8], [61, 110], [4]]
SIZES = {"model_dim": 32, "feed_forward_dim": 48, "num_heads": 2, "num_layers": 2}
VARIANTS = {
    "gpt2": {"max_positions": 16},
    "post": {"norm": "post", "activation": "relu", "max_positions": 16},
    "sinusoidal": {"positions": "sinusoidal", "max_positions": None, "scale_embeddings": True},
    "untied": {"tied_head": False, "max_positions": 16, "layer_norm_epsilon": 1e-3},
}


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return synthetic_tokenizer(PIECES)


def make(**fields: Any) -> Any:
    model = build_decoder(DecoderConfig(vocab_size=PIECES, **{**SIZES, **fields}))
    randomize(model)
    return model


@pytest.fixture(scope="module", params=VARIANTS.values(), ids=list(VARIANTS))
def engines(request: Any, tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A Keras model and the CTranslate2 generator made of it."""
    model = make(**request.param)
    directory = tmp_path_factory.mktemp("peer")
    write_ctranslate2_generator(model, tokenizer, directory)
    return model, ctranslate2.Generator(str(directory), intra_threads=1)


def log_probabilities(model: Any, row: list[int]) -> np.ndarray:
    """Of every token after each of a row's: `(length, vocabulary)`."""
    logits = np.asarray(model({"token_ids": np.array([row])}), np.float64)[0]
    logits -= logits.max(axis=-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def greedy(model: Any, prompt: list[int]) -> list[int]:
    row = [START, *prompt]
    for _ in range(LENGTH):
        scores = log_probabilities(model, row)[-1]
        scores[model.config.special_ids.eos] = -np.inf
        row.append(int(scores.argmax()))
    return row[-LENGTH:]


def test_both_find_the_same_ids(engines: Any, tokenizer: Tokenizer) -> None:
    model, generator = engines
    found = generator.generate_batch(
        [tokenizer.pieces([START, *prompt]) for prompt in PROMPTS],
        include_prompt_in_result=False,
        min_length=LENGTH,
        max_length=LENGTH,
    )
    expected = [greedy(model, prompt) for prompt in PROMPTS]
    assert [result.sequences_ids[0] for result in found] == expected


def test_both_give_the_same_log_probabilities(engines: Any, tokenizer: Tokenizer) -> None:
    model, generator = engines
    found = generator.score_batch([tokenizer.pieces([START, *prompt]) for prompt in PROMPTS])
    for prompt, result in zip(PROMPTS, found, strict=True):
        rows = log_probabilities(model, [START, *prompt])
        expected = [row[token] for row, token in zip(rows, prompt, strict=False)]
        np.testing.assert_allclose(result.log_probs, expected, atol=1e-4)


def test_the_vocabulary_is_written_beside_it(tokenizer: Tokenizer, tmp_path: Path) -> None:
    write_ctranslate2_generator(make(), tokenizer, tmp_path / "peer", "int8")
    assert (tmp_path / "peer" / VOCABULARY).read_bytes() == tokenizer.model


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"activation": "tanh"}, "activation must be one of relu, gelu, gelu_tanh"),
        ({"gated_feed_forward": True}, "gated_feed_forward must be False for CTranslate2"),
        ({"logit_bias": True}, "logit_bias must be False for CTranslate2, got True"),
        ({"embedding_norm": True}, "embedding_norm must be False for CTranslate2's decoders"),
        ({"key_dim": 4, "value_dim": 4}, "got 4 and 4 for 32 / 2"),
    ],
)
def test_what_ctranslate2_has_not_is_refused(
    fields: dict[str, Any], message: str, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        write_ctranslate2_generator(make(**fields), tokenizer, tmp_path / "peer")
    assert not (tmp_path / "peer").exists()
