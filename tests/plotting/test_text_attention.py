"""Attention of encoders and decoders alone, and what two of their tokens compare."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from keras_transformer.config import SpecialIds
from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.models.attention_maps import self_attention
from keras_transformer.models.decoder_only import build_decoder
from keras_transformer.models.encoder_only import build_encoder
from keras_transformer.plotting.attention import text_attention
from keras_transformer.plotting.sentences import see_text
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer

SIZES: dict[str, Any] = {"model_dim": 16, "feed_forward_dim": 20, "num_heads": 4, "num_layers": 2}
DECODER = {"num_key_value_heads": 2, "norm": "pre"}


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(["ab ba", "ab cab", "ba cab"], vocab_size=11)


@pytest.fixture(scope="module")
def make(tokenizer: Tokenizer, randomize: Callable[..., Any]) -> Callable[..., Any]:
    def made(family: str, **fields: Any) -> Any:
        sizes = {"vocab_size": tokenizer.vocab_size, **SIZES, **fields}
        if family == "encoder":
            return randomize(build_encoder(EncoderConfig(**sizes)))
        return randomize(build_decoder(DecoderConfig(**sizes)))

    return made


@pytest.mark.parametrize(("family", "fields"), [("encoder", {}), ("decoder", DECODER)])
def test_weights_are_softmaxes_of_the_products_of_what_is_compared(
    family: str, fields: dict[str, Any], make
) -> None:
    found = self_attention(make(family, **fields), np.array([[2, 6, 5, 8, 7]], np.int32))
    scores = np.einsum("lbhqk,lbhsk->lbhqs", found.queries, found.keys) / 2
    if family == "decoder":
        scores[..., np.triu_indices(5, 1)[0], np.triu_indices(5, 1)[1]] = -np.inf
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    expected = exponentials / exponentials.sum(-1, keepdims=True)
    np.testing.assert_allclose(found.weights, expected, atol=1e-5)


def test_relative_segments_count_in_the_weights_of_each_layer(make) -> None:
    fields = {"positions": "none", "max_positions": None, "relative_segments": True}
    fields |= {"num_token_types": 3, "special_ids": SpecialIds(bos=None, cls=4)}
    model, ids = make("encoder", **fields), np.array([[6, 5, 8, 3, 4]], np.int32)
    found, states = self_attention(model, ids), model.states_of_layers(ids)
    block = model.encoder_stack.blocks[1]
    differs = (ids == 4)[:, None, :, None] != (ids == 4)[:, None, None, :]
    weights = block.attention(states[1], return_weights=True, differs=differs)[1]
    np.testing.assert_allclose(found.weights[1], weights, atol=1e-6)
    inputs = {"token_ids": ids, "token_type_ids": np.array([[0, 0, 0, 0, 2]], np.int32)}
    np.testing.assert_allclose(states[-1], model(inputs)["states"], atol=1e-6)


def test_a_panel_for_each_head_has_the_tokens_that_the_model_reads(
    make, tokenizer: Tokenizer
) -> None:
    seen = see_text(make("encoder"), tokenizer, "ab cab")
    assert seen.tokens == ["<s>", *tokenizer.pieces(tokenizer.encode(["ab cab"])[0]), "</s>"]
    figure = text_attention(seen)
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert len(titles) == 8 and titles[-1] == "layer 2, head 4"
    shown = np.asarray(figure.axes[0].images[0].get_array())
    np.testing.assert_allclose(shown, seen.attention.weights[0, 0, 0])


def test_tokens_are_found_by_piece_and_by_place(make, tokenizer: Tokenizer) -> None:
    seen = see_text(make("decoder"), tokenizer, "ab cab")
    place = seen.tokens.index("▁cab")
    pair = seen.compared(["cab", "1"], layer=1)
    assert (pair.query_token, pair.key_token) == ("cab", "<s>")
    np.testing.assert_array_equal(pair.queries, seen.attention.queries[0, 0, :, place])
    np.testing.assert_array_equal(pair.keys, seen.attention.keys[0, 0, :, 0])


@pytest.mark.parametrize(
    ("tokens", "layer", "message"),
    [
        (["zebra", "1"], None, "'zebra' stands nowhere: give one of 1:<s> "),
        (["99", "1"], None, "'99' stands nowhere"),
        (["1", "1"], 3, "layer must lie between 1 and 2, got 3"),
    ],
)
def test_what_is_not_there_is_named(
    tokens: list[str], layer: int | None, message: str, make, tokenizer: Tokenizer
) -> None:
    with pytest.raises(ValueError, match=message):
        see_text(make("encoder"), tokenizer, "ab cab").compared(tokens, layer)


def test_a_recurrence_has_no_attention(make, tokenizer: Tokenizer) -> None:
    model = make("decoder", recurrence="lstm", positions="none", max_positions=None)
    with pytest.raises(ValueError, match="recurrence in place of attention"):
        see_text(model, tokenizer, "ab")
