"""The LSTM: its equations, padding, and steps that equal the whole."""

import dataclasses
from typing import Any

import keras
import numpy as np
import pytest

from keras_transformer.config import RecurrenceConfig
from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.decoding.generator import Generator
from keras_transformer.export import export_onnx
from keras_transformer.layers import LSTM
from keras_transformer.models.decoder_only import build_decoder

INPUTS = np.random.default_rng(0).standard_normal((2, 5, 6)).astype("float32")
CONFIG = RecurrenceConfig(kind="lstm")


@pytest.fixture
def layer(randomize: Any) -> LSTM:
    made = LSTM(CONFIG)
    made(INPUTS)
    return randomize(made)


def test_equals_its_equations_in_float64(layer: LSTM) -> None:
    kernel, recurrent, bias = (np.asarray(one, np.float64) for one in layer.cells.weights)
    hidden = cell = np.zeros((2, 6))
    expected = []
    for place in range(5):
        gates = INPUTS[:, place].astype(np.float64) @ kernel + hidden @ recurrent + bias
        into, forget, candidate, out = np.split(gates, 4, axis=-1)
        into, forget, out = (1 / (1 + np.exp(-gate)) for gate in (into, forget, out))
        cell = forget * cell + into * np.tanh(candidate)
        hidden = out * np.tanh(cell)
        expected.append(hidden)
    np.testing.assert_allclose(layer(INPUTS), np.stack(expected, axis=1), atol=1e-5)


@pytest.mark.parametrize("parts", [(1, 1, 1, 1, 1), (2, 3), (5,)])
def test_steps_equal_the_whole(layer: LSTM, parts: tuple[int, ...]) -> None:
    state, found = layer.empty_state(2), []
    for part in np.split(INPUTS, np.cumsum(parts)[:-1], axis=1):
        outputs, state = layer.step(part, state)
        found.append(outputs)
    np.testing.assert_allclose(np.concatenate(found, axis=1), layer(INPUTS), atol=1e-6)


def test_padding_changes_nothing(layer: LSTM) -> None:
    keep = np.arange(5)[None] < np.array([[3], [5]])
    changed = np.where(keep[:, :, None], INPUTS, 9.0).astype("float32")
    np.testing.assert_allclose(
        np.where(keep[:, :, None], layer(changed, keep), 0),
        np.where(keep[:, :, None], layer(INPUTS), 0),
        atol=1e-6,
    )


@pytest.fixture
def decoder(masked_tokenizer: Any, randomize: Any) -> Any:
    config = DecoderConfig.preset(
        "lstm-tiny",
        vocab_size=masked_tokenizer.vocab_size,
        special_ids=masked_tokenizer.special_ids,
        model_dim=12,
        feed_forward_dim=20,
    )
    return randomize(build_decoder(config))


def test_a_decoder_continues_as_it_scores(decoder: Any, masked_tokenizer: Any) -> None:
    assert decoder.count_params() == decoder.config.parameter_count
    generator = Generator(decoder, masked_tokenizer)
    prompts = ["the red", "a small house", ""]
    found = generator.generate_ids(masked_tokenizer.encode(prompts), max_length=5, beam_size=3)
    engine: Any = generator._engine
    for ids, [best, *_] in zip(masked_tokenizer.encode(prompts), found, strict=True):
        [values] = engine.log_probabilities([[*ids, *best.ids]])
        written = values[len(ids) :][: len(best.ids)]
        if len(best.ids) == 5:
            np.testing.assert_allclose(written.sum(), best.log_probability, atol=1e-3)


def test_a_decoder_survives_its_file(decoder: Any, tmp_path: Any) -> None:
    decoder.save(tmp_path / "model.keras")
    twin = keras.saving.load_model(tmp_path / "model.keras")
    ids = {"token_ids": np.array([[2, 7, 9, 5]])}
    np.testing.assert_array_equal(twin(ids), decoder(ids))


def test_graphs_refuse_it_by_name(decoder: Any, masked_tokenizer: Any, tmp_path: Any) -> None:
    for target in ("fastest", "onnxruntime", "portable"):
        with pytest.raises(ValueError, match="cannot hold recurrence='lstm': export as a Saved"):
            export_onnx(decoder, masked_tokenizer, tmp_path / "onnx", target=target)


def test_a_recurrence_has_no_memory() -> None:
    config = DecoderConfig.preset("lstm-tiny", vocab_size=20)
    with pytest.raises(ValueError, match="recurrence='lstm' has a state of its own in place of"):
        dataclasses.replace(config, memory_length=8)
