"""`generate`: the ids are those of the search that the package's translators and generators use."""

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.config import TransformerConfig
from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.sentence_marks import SentenceMarks
from keras_transformer.decoding.generator import KerasGenerationEngine
from keras_transformer.decoding.translator import KerasEngine
from keras_transformer.models.decoder_only import build_decoder
from keras_transformer.models.encoder_only import EncoderOnly
from keras_transformer.models.transformer import build_transformer
from keras_transformer.search.options import SearchOptions
from tools.covering import some

SIZES: dict[str, Any] = {"model_dim": 8, "feed_forward_dim": 16, "num_heads": 2}
LAYERS = {"num_encoder_layers": 1, "num_decoder_layers": 1}
PAD, _, BOS, EOS = range(4)
ROWS = [[5, 6, 7], [8], [9, 10]]
SEARCHES = [
    {},
    {"beam_size": 3, "length_penalty": 1.0},
    {"beam_size": 3, "num_hypotheses": 2, "no_repeat_ngram_size": 2},
    {"sample": True, "seed": 3, "num_hypotheses": 2, "top_k": 5, "temperature": 0.7},
]


@pytest.fixture(scope="module")
def translator(randomize) -> Any:
    config = TransformerConfig.preset("tiny", vocab_size=20, **{**SIZES, **LAYERS})
    return randomize(build_transformer(config))


@pytest.fixture(scope="module")
def decoder(randomize) -> Any:
    config = DecoderConfig.preset("gpt2-tiny", vocab_size=20, **{**SIZES, "num_layers": 1})
    return randomize(build_decoder(config))


@pytest.mark.parametrize("start", some([[], [BOS]], []))
def test_a_prompt_without_a_start_is_read_as_it_stands(start: list[int], randomize) -> None:
    fields = {**SIZES, "num_layers": 1, "starts_prompts": False}
    model = randomize(build_decoder(DecoderConfig.preset("gpt2-tiny", vocab_size=20, **fields)))
    rows = [[*start, *row] for row in ROWS]
    found = model.generate(rows, max_length=4, min_length=4, strip_prompt=True)
    for row, new in zip(rows, found.tolist(), strict=True):
        logits = np.array(model({"token_ids": np.array([[*row, *new]], np.int32)}))[0]
        # Neither the end, which comes too early, nor what is never generated.
        logits[:, [PAD, BOS, EOS]] = -np.inf
        assert logits[len(row) - 1 : -1].argmax(axis=-1).tolist() == new


@pytest.mark.parametrize("row", [[99], [-3, 5], [5, 99]])
def test_each_id_of_a_prompt_without_a_start_is_one_of_the_vocabulary(row: list[int]) -> None:
    fields = {**SIZES, "num_layers": 1, "starts_prompts": False}
    model = build_decoder(DecoderConfig.preset("gpt2-tiny", vocab_size=20, **fields))
    with pytest.raises(ValueError, match="row 1"):
        model.generate([[5, 6], row], max_length=2)


def unpadded(ids: np.ndarray) -> list[list[int]]:
    return [row[row != PAD].tolist() for row in ids.reshape(-1, ids.shape[-1])]


@pytest.mark.parametrize("options", some(SEARCHES, SEARCHES[2]), ids=str)
def test_translations_are_the_engines(translator, options: dict[str, Any]) -> None:
    chosen = SearchOptions(max_length=6, **options)
    found = KerasEngine(translator, 4096).search(ROWS, chosen)
    ids = translator.generate(ROWS, max_length=6, **options)
    assert ids.dtype == np.int32 and ids.shape[0] == 3
    assert ids.ndim == (3 if chosen.num_hypotheses > 1 else 2)
    assert unpadded(ids) == [one.ids for row in found for one in row]


@pytest.mark.parametrize("options", some(SEARCHES, SEARCHES[3]), ids=str)
def test_continuations_are_the_engines(decoder, options: dict[str, Any]) -> None:
    chosen = SearchOptions(max_length=6, **options)
    found = KerasGenerationEngine(decoder, 4096).search(ROWS, chosen)
    stripped = decoder.generate(ROWS, strip_prompt=True, max_length=6, **options)
    assert unpadded(stripped) == [one.ids for row in found for one in row]
    whole = decoder.generate(ROWS, max_length=6, **options)
    expected = [[*prompt, *one.ids] for prompt, row in zip(ROWS, found, strict=True) for one in row]
    assert unpadded(whole) == expected


FORMS = {
    "a padded array": np.array([[5, 6, 7], [8, 0, 0], [9, 10, 0]]),
    "padding in front": np.array([[0, 5, 6, 7], [0, 0, 0, 8], [0, 0, 9, 10]]),
    "a tensor": tf.constant([[5, 6, 7], [8, 0, 0], [9, 10, 0]]),
    "ragged": tf.ragged.constant(ROWS),
    "rows of arrays": [np.array(row) for row in ROWS],
}


@pytest.mark.parametrize("ids", FORMS.values(), ids=FORMS)
def test_ids_may_come_in_any_form(translator, decoder, ids: Any) -> None:
    for model in (translator, decoder):
        expected = model.generate(ROWS, max_length=5)
        np.testing.assert_array_equal(model.generate(ids, max_length=5), expected)


def test_start_and_end_may_be_there_or_not(translator, decoder) -> None:
    ended = [[*row, EOS] for row in ROWS]
    expected = translator.generate(ROWS, max_length=5)
    np.testing.assert_array_equal(translator.generate(ended, max_length=5), expected)
    begun = [[BOS, *row] for row in ROWS]
    expected = decoder.generate(ROWS, max_length=5)
    np.testing.assert_array_equal(decoder.generate(begun, max_length=5), expected)


def test_translations_begin_with_what_is_given(translator) -> None:
    begins = [[11, 12], [], [13]]
    ids = translator.generate(ROWS, begins, max_length=6)
    for row, begin in zip(unpadded(ids), begins, strict=True):
        assert row[: len(begin)] == begin
    begun = [[BOS, *row] for row in begins]
    np.testing.assert_array_equal(translator.generate(ROWS, begun, max_length=6), ids)


@pytest.mark.exhaustive
def test_languages_are_marked(randomize) -> None:
    marks = SentenceMarks(languages={"de": 18, "en": 19}, source_language="de")
    config = TransformerConfig.preset("tiny", vocab_size=20, marks=marks, **{**SIZES, **LAYERS})
    model = randomize(build_transformer(config))
    ids = model.generate(ROWS, target_language="en", max_length=5)
    plain = SearchOptions(max_length=5)
    found = KerasEngine(model, 4096).search([[18, *row] for row in ROWS], plain, [[19]] * 3)
    assert unpadded(ids) == [row[0].ids for row in found]
    with pytest.raises(ValueError, match="target_language must be one of 2"):
        model.generate(ROWS)


@settings(max_examples=20, deadline=None)
@given(rows=st.lists(st.lists(st.integers(5, 19), min_size=1, max_size=4), min_size=1, max_size=4))
def test_a_batch_is_its_rows(decoder, rows: list[list[int]]) -> None:
    together = unpadded(decoder.generate(rows, max_length=3))
    assert together == [unpadded(decoder.generate([row], max_length=3))[0] for row in rows]


@pytest.mark.exhaustive
def test_changed_layers_take_effect(decoder, randomize) -> None:
    model = build_decoder(decoder.config)
    model.set_weights(decoder.get_weights())
    expected = model.generate(ROWS, max_length=8)
    model.enable_lora(2)
    np.testing.assert_array_equal(model.generate(ROWS, max_length=8), expected)
    for weight in model.trainable_weights:
        weight.assign(keras.random.normal(weight.shape, seed=2))
    adapted = model.generate(ROWS, max_length=8)
    np.testing.assert_array_equal(model.merge_lora().generate(ROWS, max_length=8), adapted)
    assert adapted.shape != expected.shape or np.any(adapted != expected)


def test_no_rows_give_no_rows(translator, decoder) -> None:
    assert translator.generate([]).shape == decoder.generate([]).shape == (0, 0)


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        ([[5.0, 6.0]], TypeError, "must be integers, got float64 in row 0"),
        ([["a"]], TypeError, "must be integers, got <U1 in row 0"),
        ([5, 6], ValueError, r"must be rows of ids, \(batch, length\): row 0 has the shape \(\)"),
        (np.zeros((1, 2, 2), int), ValueError, r"row 0 has the shape \(2, 2\)"),
        ([[5, 20]], ValueError, "0 to 19"),
    ],
)
def test_wrong_ids_are_named(translator, decoder, ids: Any, error: Any, message: str) -> None:
    for model in (translator, decoder):
        with pytest.raises(error, match=message):
            model.generate(ids)


def test_an_unknown_option_is_named(decoder) -> None:
    with pytest.raises(TypeError, match="num_beams"):
        decoder.generate(ROWS, num_beams=3)
    with pytest.raises(ValueError, match="beam_size must be at least 1, got 0"):
        decoder.generate(ROWS, beam_size=0)


def test_other_backends_are_told_what_it_needs(decoder, monkeypatch: pytest.MonkeyPatch) -> None:
    model = build_decoder(decoder.config)
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    with pytest.raises(ValueError, match="generate needs Keras on TensorFlow, got .*'jax'"):
        model.generate(ROWS)


def test_an_encoder_alone_writes_nothing() -> None:
    assert not hasattr(EncoderOnly, "generate")
