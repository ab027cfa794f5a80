"""The peer's models are made by the package's own export, in the precision that is asked for."""

from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import pytest
from speed.ctranslate2_model import write_ctranslate2
from speed.random_run import randomize, synthetic_tokenizer

from keras_transformer.config import TransformerConfig
from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.models.families import build_model
from keras_transformer.text.tokenizer import Tokenizer

VOCABULARY = 200
WIDTHS: dict[str, Any] = {"model_dim": 32, "feed_forward_dim": 48, "num_heads": 2}
ONE_STACK: dict[str, Any] = {"vocab_size": VOCABULARY, "max_positions": 16, "num_layers": 2}


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return synthetic_tokenizer(VOCABULARY)


def make(**fields: Any) -> Any:
    layers = {"num_encoder_layers": 2, "num_decoder_layers": 2}
    config = TransformerConfig(source_vocab_size=VOCABULARY, **{**WIDTHS, **layers, **fields})
    model = build_model(config)
    randomize(model)
    return model


@pytest.mark.parametrize(
    ("config", "opens"),
    [
        (EncoderConfig(**WIDTHS, **ONE_STACK), ctranslate2.Encoder),
        (DecoderConfig(**WIDTHS, **ONE_STACK), ctranslate2.Generator),
    ],
    ids=["encoder", "decoder"],
)
def test_a_model_of_one_stack_opens(
    config: Any, opens: Any, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    write_ctranslate2(build_model(config), tokenizer, tokenizer, tmp_path / "peer", "int8")
    assert opens(str(tmp_path / "peer"), compute_type="auto").compute_type.startswith("int8")
    assert (tmp_path / "peer" / "tokenizer.model").read_bytes() == tokenizer.model


def test_int8_weights_take_a_quarter(tokenizer: Tokenizer, tmp_path: Path) -> None:
    model = make()
    sizes = []
    for quantization in (None, "int8"):
        peer = tmp_path / str(quantization)
        write_ctranslate2(model, tokenizer, tokenizer, peer, quantization)
        matrices = sum(int(np.prod(weight.shape)) for weight in model.weights)
        table = 1024 * model.config.model_dim * 4
        sizes.append(((peer / "model.bin").stat().st_size - table) / matrices)
    assert sizes[0] > 4
    assert sizes[1] < 0.6 * sizes[0]


def test_the_tokenizers_are_written_beside_it(tokenizer: Tokenizer, tmp_path: Path) -> None:
    write_ctranslate2(make(), tokenizer, tokenizer, tmp_path / "peer")
    for side in ("source", "target"):
        assert (tmp_path / "peer" / f"{side}.model").read_bytes() == tokenizer.model


def test_what_ctranslate2_has_not_is_refused(tokenizer: Tokenizer, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"Translator .* needs value_dim=16, got 4"):
        write_ctranslate2(make(value_dim=4), tokenizer, tokenizer, tmp_path / "peer")
    assert not (tmp_path / "peer").exists()
