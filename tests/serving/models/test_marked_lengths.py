"""Marks of languages take positions and tokens of a translation: requests are bounded with them, in
the server, in a SavedModel and from Python alike.
"""

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from served_models import answer, open_served
from small_models import TEXTS

from keras_transformer import build_transformer
from keras_transformer.config import TransformerConfig
from keras_transformer.config.sentence_marks import SentenceMarks
from keras_transformer.export import OnnxTranslator, export_onnx, export_saved_model
from keras_transformer.search.model_limits import TooLongError
from keras_transformer.serving.errors import ServingError
from keras_transformer.serving.models.model import ServedModel
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer

POSITIONS = 16
# Between a mark of its language and eos.
ROOM = POSITIONS - 2
MARKS = SentenceMarks(languages={"en": 58, "de": 59}, source_language="en", target_language="de")
WORD = "a\N{GREEK SMALL LETTER OMEGA}"  # A piece, and an unknown one.


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """The vocabulary of both sides."""
    return train_tokenizer(TEXTS, 60, "bpe")


@pytest.fixture(scope="module")
def model() -> Any:
    """A model that learnt positions and marks languages on both sides."""
    keras.utils.set_random_seed(1)
    config = TransformerConfig(
        source_vocab_size=60,
        model_dim=16,
        feed_forward_dim=24,
        num_heads=2,
        num_encoder_layers=1,
        num_decoder_layers=1,
        positions="learned",
        max_positions=POSITIONS,
        marks=MARKS,
    )
    return build_transformer(config)


@pytest.fixture(scope="module")
def artefact(model: Any, tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model, exported."""
    path = tmp_path_factory.mktemp("marked") / "onnx"
    export_onnx(model, tokenizer, path)
    return path


@pytest.fixture(scope="module")
def served(artefact: Path) -> ServedModel:
    """The model as a server has it, warmed up as there."""
    served = open_served(artefact, {"max_length": 12}, long_texts="refuse")
    served.warm_up()
    return served


def words(tokens: int, tokenizer: Tokenizer) -> str:
    """Returns a text of so many tokens."""
    text = " ".join([WORD] * (tokens // 2)) + (" a" if tokens % 2 else "")
    while len(tokenizer.encode([text])[0]) < tokens:
        text += "a"
    assert len(tokenizer.encode([text])[0]) == tokens
    return text


def ask(served: ServedModel, name: str, **inputs: Any) -> Any:
    """Returns a signature's answer to one row."""
    kinds = {"max_length": np.int32, "length_penalty": np.float32}
    columns = {
        key: [value] if isinstance(value, str) else np.array([value], kinds[key])
        for key, value in inputs.items()
    }
    return answer(served, name, **columns)


def test_a_source_that_fills_the_positions_is_translated_and_a_longer_one_refused(
    served: ServedModel, tokenizer: Tokenizer
) -> None:
    ask(served, "serving_default", text=words(ROOM, tokenizer))
    with pytest.raises(ServingError, match=rf"{ROOM + 1} tokens, more than the limit of {ROOM}"):
        ask(served, "serving_default", text=words(ROOM + 1, tokenizer))


def test_a_target_that_fills_the_positions_is_scored_and_a_longer_one_refused(
    served: ServedModel, tokenizer: Tokenizer
) -> None:
    ask(served, "score", source="a", target=words(ROOM, tokenizer))
    with pytest.raises(ServingError, match=rf"target has {ROOM + 1} tokens"):
        ask(served, "score", source="a", target=words(ROOM + 1, tokenizer))


@pytest.mark.parametrize("max_length", [-3, 1, 2, 5])
@pytest.mark.parametrize("prefix", ["", "a a a a a a a a a a"])
def test_a_token_is_left_beside_the_mark_and_the_prefix(
    served: ServedModel, max_length: int, prefix: str
) -> None:
    options = {"max_length": max_length, "length_penalty": 0.0, "target_prefix": prefix}
    answer = ask(served, "translate_with_options", text="a", **options)
    assert np.isfinite(answer["score"]).all()


def test_a_stream_cuts_its_prefix_likewise(served: ServedModel) -> None:
    [row] = served.read_text("a", "a" * 40).rows
    served.stream(row, lambda piece: True)
    assert len(row.prefix) == 12 - len(row.begins.target) - 1


def test_from_python_a_long_source_is_refused_or_cut_to_what_fits(
    artefact: Path, tokenizer: Tokenizer
) -> None:
    text = words(ROOM + 1, tokenizer)
    with OnnxTranslator(artefact) as translator:
        assert translator.max_source_length == ROOM
        with pytest.raises(TooLongError, match=f"{ROOM + 1} tokens, more than the {ROOM}"):
            translator.translate([text])
    with OnnxTranslator(artefact, long_texts="cut") as translator:
        translator.translate([text])


def test_a_limit_that_leaves_no_token_beside_the_mark_is_refused(artefact: Path) -> None:
    with OnnxTranslator(artefact) as translator:
        with pytest.raises(ValueError, match="max_length must be at least 2, .* got 1"):
            translator.translate(["a"], max_length=1)
        # A ratio is no number of tokens that somebody asked for.
        assert translator.translate(["a"], max_length_ratio=0.1, max_length=9)


@pytest.mark.exhaustive
def test_a_saved_model_bounds_them_alike(
    model: Any, tokenizer: Tokenizer, artefact: Path, tmp_path: Path
) -> None:
    search = {"max_length": 12, "max_length_ratio": 0.7, "beam_size": 2}
    export_saved_model(model, tmp_path / "saved", tokenizer=tokenizer, **search)
    signatures = tf.saved_model.load(str(tmp_path / "saved" / "1")).signatures
    texts = ["a", *(words(tokens, tokenizer) for tokens in (3, 7, ROOM))]
    found = signatures["serving_default"](text=tf.constant(texts))["translation"].numpy()
    with OnnxTranslator(artefact) as translator:
        assert [one.decode() for one in found] == translator.translate(texts, **search)
        long = words(ROOM + 3, tokenizer)
        scores = signatures["score"](source=tf.constant(["a"]), target=tf.constant([long]))
        cut = tokenizer.encode([long])[0][:ROOM]
        [expected] = translator.score_ids(tokenizer.encode(["a"]), [cut])
    np.testing.assert_allclose(scores["log_probability"][0], expected.log_probability, rtol=1e-5)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_server_with_exact_search_starts_and_streams(artefact: Path, beam_size: int) -> None:
    search = {"early_stopping": "exact", "max_length": 9, "beam_size": beam_size}
    served = open_served(artefact, search)
    served.warm_up()
    pieces: list[str] = []
    [row] = served.read_text("a dog").rows
    served.stream(row, lambda piece: not pieces.append(piece))
    with OnnxTranslator(artefact) as translator:
        [expected] = translator.translate(["a dog"], **{**search, "beam_size": 1})
    assert "".join(pieces) == expected
