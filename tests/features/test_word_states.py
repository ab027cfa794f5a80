"""States of words: where they stand in a model's row, whatever else is read with them."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.config import TransformerConfig
from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.features.sizes import feature_config
from keras_transformer.features.word_states import WordStates
from keras_transformer.models.families import build_model
from keras_transformer.text.tokenizer import Tokenizer
from tools.covering import some

SIZES: dict[str, Any] = {"model_dim": 12, "feed_forward_dim": 20, "num_heads": 3}
WORDS = ["house", "river", "the", "birds", "hello,", "x", "small"]
TEXT = ["the", "birds", "are", "small"]
# float16 has eleven bits.
CLOSE: dict[str, Any] = {"rtol": 1e-3, "atol": 1e-3}


def config_of(kind: str, tokenizer: Tokenizer, **fields: Any) -> Any:
    special = {"special_ids": tokenizer.special_ids, **SIZES, **fields}
    if kind == "translation":
        layers = {"num_encoder_layers": 2, "num_decoder_layers": 1}
        return TransformerConfig(source_vocab_size=tokenizer.vocab_size, **special, **layers)
    single = {"vocab_size": tokenizer.vocab_size, "num_layers": 2, **special}
    if kind == "encoder":
        return EncoderConfig(**single)
    return DecoderConfig(direction=kind, **single)


@pytest.fixture(
    scope="module",
    params=some(["forward", "backward", "encoder", "translation"], "backward", "translation"),
)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def model(kind: str, tokenizer: Tokenizer, randomize: Callable[..., Any]) -> Any:
    return randomize(build_model(config_of(kind, tokenizer)))


@pytest.fixture(scope="module")
def states(model: Any, tokenizer: Tokenizer) -> WordStates:
    return WordStates(model, tokenizer)


def test_a_word_has_the_states_at_its_border(
    kind: str, model: Any, states: WordStates, tokenizer: Tokenizer
) -> None:
    special, words = tokenizer.special_ids, tokenizer.encode(TEXT)
    ids = [token for word in words for token in word]
    ends = np.cumsum([len(word) for word in words])
    firsts = ends - [len(word) for word in words]
    row, places = {
        "forward": ([special.decoder_start, *ids], ends),
        "backward": ([special.decoder_start, *ids[::-1]], len(ids) - firsts),
        "encoder": ([special.bos, *ids, special.eos], firsts + 1),
        "translation": ([*ids, special.eos], firsts),
    }[kind]
    assert ids == tokenizer.encode([" ".join(TEXT)])[0]
    layers = [np.asarray(one)[0] for one in model.states_of_layers(tf.constant([row]))]
    expected = np.stack(layers, axis=1)[places]
    [found] = states.read([TEXT])
    assert found.dtype == np.float16 and found.shape == (4, 3, 12)
    np.testing.assert_allclose(found, expected, **CLOSE)


def test_the_last_layer_is_what_the_head_reads(model: Any, tokenizer: Tokenizer) -> None:
    last = WordStates(model, tokenizer, "last").read([TEXT])[0]
    np.testing.assert_array_equal(last, WordStates(model, tokenizer).read([TEXT])[0][:, -1:])


@settings(max_examples=30, deadline=None)
@given(texts=st.lists(st.lists(st.sampled_from(WORDS), max_size=9), min_size=1, max_size=6))
def test_a_batch_is_its_texts(states: WordStates, texts: list[list[str]]) -> None:
    together = states.read(texts)
    assert [len(one) for one in together] == [len(words) for words in texts]
    for words, found in zip(texts, together, strict=True):
        np.testing.assert_allclose(found, states.read([words])[0], **CLOSE)


def test_long_texts_are_read_in_parts(
    kind: str, tokenizer: Tokenizer, randomize: Callable[..., Any]
) -> None:
    fields = {"positions": "learned", "max_positions": 12}
    states = WordStates(randomize(build_model(config_of(kind, tokenizer, **fields))), tokenizer)
    room = 10 if kind == "encoder" else 11
    parts: list[list[str]] = [[]]
    for word in 5 * TEXT:
        if sum(map(len, tokenizer.encode([*parts[-1], word]))) > room:
            parts.append([])
        parts[-1].append(word)
    assert len(parts) > 2
    [found] = states.read([5 * TEXT])
    np.testing.assert_allclose(found, np.concatenate(states.read(parts)), **CLOSE)
    # A word that is longer by itself is cut.
    [long] = states.read([["house" * 20, "river"]])
    np.testing.assert_allclose(long[1], states.read([["river"]])[0][0], **CLOSE)


def test_a_word_without_tokens_has_zeros(states: WordStates) -> None:
    # A space of width 0, which normalisation drops.
    [found] = states.read([["the", "\u200b", "birds"]])
    np.testing.assert_array_equal(found[1], 0)
    np.testing.assert_allclose(found[[0, 2]], states.read([["the", "birds"]])[0], **CLOSE)


def test_backward_states_are_those_of_the_reversed_ids(
    tokenizer: Tokenizer, randomize: Callable[..., Any]
) -> None:
    config = config_of("forward", tokenizer)
    forward = randomize(build_model(config))
    backward = build_model(dataclasses.replace(config, direction="backward"))
    backward.set_weights(forward.get_weights())
    [found] = WordStates(backward, tokenizer).read([["birds"]])
    start, ids = tokenizer.special_ids.decoder_start, tokenizer.encode(["birds"])[0][::-1]
    layers = forward.states_of_layers(tf.constant([[start, *ids]]))
    np.testing.assert_allclose(found[0], [np.asarray(one)[0, -1] for one in layers], **CLOSE)


def test_features_of_features_are_refused(tokenizer: Tokenizer) -> None:
    given = config_of("encoder", tokenizer)
    labels = ("a", "b")
    one = feature_config(given, "all")
    assert (one.num_layers, one.width) == (3, 12)
    read = dataclasses.replace(given, head="tagging", labels=labels, features=(one,))
    with pytest.raises(ValueError, match="reads features of other runs cannot give features"):
        feature_config(read, "last")
