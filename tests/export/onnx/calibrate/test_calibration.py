"""Calibration: moments are those of each layer's inputs, losses are those of the texts, and an
export says them and keeps to a limit."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.export import export_onnx
from keras_transformer.export.onnx.calibrate.loss import Loss, check_loss
from keras_transformer.export.onnx.calibrate.observed import ObservedGraphs
from keras_transformer.export.onnx.calibrate.rows import text_rows
from keras_transformer.export.onnx.layers.linear import Linear, own_projection
from keras_transformer.export.onnx.quantize.int4 import lines_of
from keras_transformer.export.onnx.settings import Quantization
from keras_transformer.models.decoder_only import build_decoder
from keras_transformer.models.encoder_only import build_encoder
from keras_transformer.text.tokenizer import Tokenizer

TEXTS = ["a small house", "the red house is small", "a house"]
SMALL: dict[str, Any] = {
    "model_dim": 32,
    "feed_forward_dim": 48,
    "num_heads": 4,
    "num_layers": 2,
    "max_positions": 40,
}


@pytest.fixture
def make(randomize: Callable[..., Any], tokenizer: Tokenizer) -> Callable[..., Any]:
    """`make(family, **fields)`."""

    def build(family: str, **fields: Any) -> Any:
        known = {"vocab_size": tokenizer.vocab_size, "special_ids": tokenizer.special_ids}
        known |= fields
        config: Any = (EncoderConfig if family == "encoder" else DecoderConfig)(**SMALL, **known)
        return randomize((build_encoder if family == "encoder" else build_decoder)(config))

    return build


def test_moments_are_sums_over_all_texts_of_a_layers_inputs(
    make: Any, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    # Emitted graphs add the bias of an output to the inputs before it.
    model = make("encoder", use_bias=False)
    observed = ObservedGraphs(model, 18, tmp_path)
    expected = np.zeros((32, 32))
    for row in text_rows(model.config, tokenizer, tokenizer, TEXTS):
        found = observed.run("encoder", row)
        assert list(found) == ["states"]
        inputs = {"token_ids": row["token_ids"], "token_type_ids": row["token_type_ids"]}
        states = np.asarray(model.encoder(inputs))[0]
        np.testing.assert_allclose(found["states"][0], states, atol=1e-4)
        keep = np.ones(row["token_ids"].shape, bool)
        embedded = model.embeddings(row["token_ids"], keep, row["token_type_ids"], training=False)
        expected += np.asarray(embedded)[0].T @ np.asarray(embedded)[0]
    attention = model.encoder_stack.blocks[0].attention
    sums = observed.moments(lines_of(own_projection(attention)))
    assert sums is not None
    np.testing.assert_allclose(sums, expected, rtol=1e-3, atol=1e-3)
    assert observed.moments(lines_of(Linear(np.ones((32, 20), np.float32)))) is None


def test_the_loss_of_tokens_is_the_growth_of_perplexity_and_of_vectors_a_cosines_lack() -> None:
    exact, found = [np.log([0.5, 0.25]), np.log([0.5])], [np.log([0.25, 0.25]), np.log([0.5])]
    loss = Loss.of_tokens(exact, found)
    assert loss.value == pytest.approx(2 ** (1 / 3) - 1)
    assert loss.text == "perplexity of 3 tokens 2.520 in float32, 3.175 quantised (+25.99%)"
    # What is infinite in both may have grown all the same.
    assert Loss.of_tokens([np.full(2, -900.0)], [np.full(2, -901.0)]).value == pytest.approx(
        np.e - 1
    )
    vectors = Loss.of_vectors([np.eye(2)], [np.array([[2.0, 0.0], [1.0, 1.0]])])
    assert vectors.value == pytest.approx((1 - 0.5**0.5) / 2)
    with pytest.raises(ValueError, match=r"more than max_loss \(0.25\).*\+25.99%.*raise the limit"):
        check_loss(loss, 0.25)
    check_loss(loss, 0.26)
    check_loss(loss, None)


@pytest.mark.parametrize(("family", "says"), [("decoder", "perplexity"), ("encoder", "mean cos")])
def test_an_export_says_its_loss(
    make: Any, tokenizer: Tokenizer, tmp_path: Path, family: str, says: str
) -> None:
    said, texts = list[str](), Quantization(calibration=TEXTS, max_loss=9.0)
    options: dict[str, Any] = {"quantize": "int4", "quantization": texts, "progress": said.append}
    export_onnx(make(family), tokenizer, tmp_path / "a", target="onnxruntime", **options)
    assert len(said) == 1 and said[0].startswith(says)


def test_a_loss_above_the_limit_exports_nothing(
    make: Any, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    texts = Quantization(calibration=TEXTS, max_loss=0.0)
    options: dict[str, Any] = {"quantize": "int4", "quantization": texts}
    with pytest.raises(ValueError, match="loses more than max_loss"):
        export_onnx(make("encoder"), tokenizer, tmp_path / "a", target="onnxruntime", **options)
    assert not (tmp_path / "a").exists()


def test_a_translation_model_reads_pairs(
    make_model: Callable[..., Any], randomize: Callable[..., Any], tokenizer: Tokenizer
) -> None:
    config = randomize(make_model()).config
    [row] = text_rows(config, tokenizer, tokenizer, ["a house\ta red house", ""])
    eos, start = config.special_ids.eos, config.special_ids.decoder_start
    assert row["source_ids"][0].tolist() == [*tokenizer.encode(["a house"])[0], eos]
    assert row["target_ids"][0].tolist() == [start, *tokenizer.encode(["a red house"])[0]]
    assert row["labels"][0].tolist() == [*tokenizer.encode(["a red house"])[0], eos]
    with pytest.raises(ValueError, match="line 2 has 0 tabs"):
        text_rows(config, tokenizer, tokenizer, ["a\tb", "c"])
    with pytest.raises(ValueError, match="the calibration text is empty"):
        text_rows(config, tokenizer, tokenizer, [" "])


@pytest.mark.parametrize(
    ("values", "quantize", "message"),
    [
        ({"block_size": 64}, "int4", "block_size must be 32 or 128, got 64"),
        ({"max_loss": 0.1}, "int4", "give calibration as well"),
        ({"max_loss": -1.0, "calibration": TEXTS}, "int4", "max_loss must be at least 0, got -1.0"),
        ({"zero_points": True}, "int8", "are those of quantize='int4', got 'int8'"),
        ({"calibration": TEXTS}, None, "give quantize as well"),
    ],
)
def test_what_does_not_fit_is_refused(
    values: dict[str, Any], quantize: str | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Quantization(**values).check_precision(quantize)
