"""CTranslate2 computes what Keras does with what is written for it: probabilities, states, ids."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import pytest

from keras_transformer import Translator
from keras_transformer.decoding.batches import pad
from keras_transformer.export import export_pretrained
from keras_transformer.text.tokenizer import Tokenizer
from tools.covering import some

T5 = {
    "norm": "pre",
    "norm_kind": "rms_norm",
    "layer_norm_epsilon": 1e-6,
    "use_bias": False,
    "scale_attention": False,
    "positions": "none",
    "scale_embeddings": False,
    "relative_buckets": 8,
    "relative_max_distance": 20,
}
TRANSLATORS: dict[str, dict[str, Any]] = {
    "paper": {},
    "pre": {"norm": "pre", "layer_norm_epsilon": 1e-3, "activation": "gelu_tanh"},
    "learned": {
        "positions": "learned",
        "max_positions": 40,
        "position_offset": 2,
        "embedding_norm": True,
        "scale_embeddings": False,
        "activation": "gelu",
    },
    "separate": {"share_embeddings": "none", "logit_bias": True, "activation": "silu"},
    "relative": T5,
    "gated": {**T5, "gated_feed_forward": True, "activation": "gelu_tanh"},
}
GENERATORS: dict[str, dict[str, Any]] = {
    "gpt2": {},
    "post": {"norm": "post", "activation": "relu", "layer_norm_epsilon": 1e-3},
    "sinusoidal": {"positions": "sinusoidal", "max_positions": None, "scale_embeddings": True},
    "llama": {
        "positions": "none",
        "max_positions": None,
        "rotary_base": 10_000.0,
        "num_key_value_heads": 2,
        "norm_kind": "rms_norm",
        "gated_feed_forward": True,
        "activation": "silu",
        "use_bias": False,
        "tied_head": False,
    },
}
ENCODERS: dict[str, dict[str, Any]] = {
    "bert": {},
    "scaled": {
        "positions": "sinusoidal",
        "max_positions": None,
        "num_token_types": 0,
        "scale_embeddings": True,
    },
    "alone": {"num_token_types": 0, "pooler": False, "norm": "pre", "embedding_norm": False},
    "head": {"head": "masked_lm"},
}


def log_softmax(logits: Any) -> np.ndarray:
    values = np.asarray(logits, np.float64)
    values = values - values.max(axis=-1, keepdims=True)
    return values - np.log(np.exp(values).sum(axis=-1, keepdims=True))


@pytest.mark.parametrize("name", some(TRANSLATORS, "learned", "separate", "gated"))
def test_a_translator_s_scores_are_those_of_keras(
    name: str,
    translator_of: Callable[..., Any],
    tokenizer: Tokenizer,
    texts: list[str],
    tmp_path: Path,
) -> None:
    model = translator_of(tokenizer, **TRANSLATORS[name])
    written = export_pretrained(model, tmp_path / "out", format="ctranslate2", tokenizer=tokenizer)
    side = Tokenizer.load(written / "source.model")
    sources = [side.pieces(row) for row in side.encode(texts)]
    translator = ctranslate2.Translator(str(written), intra_threads=1)
    found = translator.score_batch(sources, sources[::-1])
    expected = Translator(model, tokenizer, tokenizer).score(texts, texts[::-1])
    np.testing.assert_allclose(
        [sum(one.log_probs) for one in found],
        [one.log_probability for one in expected],
        atol=1e-4,
    )


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name == "relative" else pytest.mark.exhaustive)
        for name in TRANSLATORS
    ],
)
def test_a_translator_s_ids_are_those_of_keras(
    name: str,
    translator_of: Callable[..., Any],
    tokenizer: Tokenizer,
    texts: list[str],
    tmp_path: Path,
) -> None:
    model = translator_of(tokenizer, **{**TRANSLATORS[name], "logit_bias": True})
    never = sorted(model.config.special_ids.never_generated)
    # CTranslate2 leaves them out before it normalizes, we after: here they have no share anyway.
    bias = np.array(model.head.bias)
    bias[never] = -50.0
    model.head.bias.assign(bias)
    written = export_pretrained(model, tmp_path / "out", format="ctranslate2", tokenizer=tokenizer)
    theirs = ctranslate2.Translator(str(written), intra_threads=1)
    ours = Translator(model, tokenizer, tokenizer)
    for beam_size in (1, 4):
        options: dict[str, Any] = {"beam_size": beam_size, "length_penalty": 0.0}
        found = theirs.translate_batch(
            [tokenizer.pieces(row) for row in tokenizer.encode(texts)],
            max_decoding_length=8,
            suppress_sequences=[[piece] for piece in tokenizer.pieces(never)],
            **options,
        )
        expected = ours.translate_n_best(texts, max_length=8, early_stopping="exact", **options)
        assert [one.hypotheses[0] for one in found] == [
            tokenizer.pieces(one[0].ids) for one in expected
        ]


@pytest.mark.parametrize("name", GENERATORS)
def test_a_generator_s_logits_are_those_of_keras(
    name: str,
    small_decoder: Callable[..., Any],
    masked_tokenizer: Tokenizer,
    texts: list[str],
    tmp_path: Path,
) -> None:
    model = small_decoder(**GENERATORS[name])
    written = export_pretrained(
        model, tmp_path / "out", format="ctranslate2", tokenizer=masked_tokenizer
    )
    theirs = ctranslate2.Generator(str(written), intra_threads=1)
    ids = masked_tokenizer.encode(texts[:1])[0]
    begin = model.config.special_ids.decoder_start
    batch = theirs.forward_batch([[begin, *ids]])
    expected = log_softmax(model({"token_ids": np.array([[begin, *ids]])}))
    np.testing.assert_allclose(log_softmax(np.array(batch)), expected, atol=1e-4)


@pytest.mark.parametrize("name", ENCODERS)
def test_an_encoder_s_states_are_those_of_keras(
    name: str,
    small_encoder: Callable[..., Any],
    masked_tokenizer: Tokenizer,
    texts: list[str],
    tmp_path: Path,
) -> None:
    model = small_encoder(**ENCODERS[name])
    written = export_pretrained(
        model, tmp_path / "out", format="ctranslate2", tokenizer=masked_tokenizer
    )
    theirs = ctranslate2.Encoder(str(written), intra_threads=1)
    rows = masked_tokenizer.encode(texts)
    types = [[0] * 4 + [1] * (len(row) - 4) for row in rows]
    has_types = model.config.num_token_types > 0
    found = theirs.forward_batch(rows, token_type_ids=types if has_types else None)
    inputs = {"token_ids": pad(rows, model.config.special_ids.pad)}
    if has_types:
        inputs["token_type_ids"] = pad(types, 0)
    states = np.array(found.last_hidden_state)
    expected = np.asarray(model.encoder(inputs))
    for place, row in enumerate(rows):
        np.testing.assert_allclose(
            states[place, : len(row)], expected[place, : len(row)], atol=1e-4
        )
