"""The families of models: what a model of each is opened with."""

from typing import Any

import pytest

import keras_transformer as kt

SIZES: dict[str, Any] = {"vocab_size": 8, "model_dim": 8, "feed_forward_dim": 8, "num_heads": 2}
BOTH = {"num_encoder_layers": 1, "num_decoder_layers": 1}


@pytest.mark.parametrize("wanted", [kt.Translator, kt.TextEncoder, kt.Generator])
def test_a_model_of_another_family_is_told_what_opens_it(wanted: Any) -> None:
    tokenizer = kt.train_tokenizer(["ab ba abba"] * 3, 8)
    models = {
        "Translator": kt.build_transformer(kt.TransformerConfig.preset("tiny", **SIZES, **BOTH)),
        "TextEncoder": kt.build_encoder(
            kt.EncoderConfig.preset("bert-tiny", num_layers=1, **SIZES)
        ),
        "Generator": kt.build_decoder(kt.DecoderConfig.preset("gpt2-tiny", num_layers=1, **SIZES)),
    }
    del models[wanted.__name__]
    for name, model in models.items():
        message = f"{wanted.__name__} needs a .* model, got {type(model).__name__}: open it with "
        with pytest.raises(TypeError, match=message + name):
            wanted(model, tokenizer)
    with pytest.raises(TypeError, match="got str: give what build_… or load_run returned"):
        wanted("runs/mine", tokenizer)
