"""Language models that read texts from the end: trained, stored, scored and refused."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from few_updates import without_graphs
from single_texts import LINES, PLAIN, SIZES

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.decoding.generator import Generator
from keras_transformer.export import export_onnx, export_saved_model
from keras_transformer.features.word_states import WordStates
from keras_transformer.models.decoder_only import DecoderOnly, build_decoder
from keras_transformer.runs.finished_run import load_run
from keras_transformer.runtime.generator import OnnxGenerator
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.training.texts.options import TextOptions

BACKWARD = {"text_options": TextOptions(direction="backward")}
QUICK = {"max_steps": 1, "checkpoint_steps": 1}


@pytest.fixture
def both(tokenizer: Tokenizer) -> tuple[DecoderOnly, DecoderOnly]:
    """Models of the same weights, forward and backward."""
    config = DecoderConfig(
        vocab_size=tokenizer.vocab_size, special_ids=tokenizer.special_ids, **SIZES
    )
    forward = build_decoder(config)
    backward = build_decoder(dataclasses.replace(config, direction="backward"))
    backward.set_weights(forward.get_weights())
    return forward, backward


def test_a_text_has_backward_the_score_of_its_reverse(
    both: tuple[DecoderOnly, DecoderOnly], tokenizer: Tokenizer
) -> None:
    forward, backward = (Generator(model, tokenizer) for model in both)
    texts = ["a man in a red shirt", "two dogs", ""]
    engine: Any = forward._engine
    read = [ids[::-1] for ids in tokenizer.encode(texts)]
    found = backward.score(texts)
    wanted = [float(values.sum()) for values in engine.log_probabilities(read)]
    np.testing.assert_allclose([one.log_probability for one in found], wanted, atol=1e-5)
    assert [list(one.ids) for one in found] == [list(ids) for ids in tokenizer.encode(texts)]


def test_an_artefact_scores_as_its_model(
    both: tuple[DecoderOnly, DecoderOnly], tokenizer: Tokenizer, tmp_path: Path
) -> None:
    backward = both[1]
    export_onnx(backward, tokenizer, tmp_path / "onnx", target="onnxruntime")
    found = OnnxGenerator(tmp_path / "onnx").perplexity(["a man in a red shirt", "two dogs"])
    live = Generator(backward, tokenizer).perplexity(["a man in a red shirt", "two dogs"])
    np.testing.assert_allclose(found, live, rtol=1e-4)


def test_continuing_is_refused(
    both: tuple[DecoderOnly, DecoderOnly], tokenizer: Tokenizer, tmp_path: Path
) -> None:
    generator = Generator(both[1], tokenizer)
    calls: list[Callable[[], Any]] = [
        lambda: generator.generate(["a"]),
        lambda: generator.generate_n_best(["a"]),
        lambda: generator.generate_ids([[7]]),
        lambda: generator.stream("a"),
        lambda: export_saved_model(both[1], tmp_path / "saved", tokenizer=tokenizer),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="direction='backward'"):
            call()


@pytest.mark.exhaustive
def test_a_run_learns_to_read_backward(start: Callable[..., Any], tmp_path: Path) -> None:
    settings = {"options": {"max_steps": 60, "checkpoint_steps": 60}}
    start("causal-lm", "backward", **BACKWARD, **settings)
    model, tokenizer, _ = load_run(tmp_path / "backward")
    assert model.config.direction == "backward"
    right = Generator(model, tokenizer).perplexity(LINES[:10])
    # The same model, told to read them forward.
    forward = build_decoder(dataclasses.replace(model.config, direction="forward"))
    forward.set_weights(model.get_weights())
    wrong = Generator(forward, tokenizer).perplexity(LINES[:10])
    assert np.mean(right) < 0.8 * np.mean(wrong)


@pytest.mark.exhaustive
@pytest.mark.usefixtures("few_updates")
def test_a_run_goes_on_in_the_direction_that_it_began_in(
    start: Callable[..., Any], tmp_path: Path
) -> None:
    start("causal-lm", "backward", options=QUICK, **BACKWARD)
    goes_on = start("causal-lm", "again", init=tmp_path / "backward", options=QUICK)
    assert goes_on.config.direction == "backward"
    turned = start(
        "causal-lm",
        "turned",
        init=tmp_path / "backward",
        text_options=TextOptions(direction="forward"),
        options=QUICK,
    )
    assert turned.config.direction == "forward"
    with pytest.raises(ValueError, match="started with direction='backward', not 'forward'"):
        start("causal-lm", "backward", options=QUICK, resume=True)


def test_a_recurrent_body_of_characters_gives_features_as_others_do(
    start: Callable[..., Any], tmp_path: Path
) -> None:
    body = {"recurrence": "lstm", "positions": "none", "max_positions": None}
    letters = {"vocab_size": None, "tokenizer_type": "char", "options": QUICK}
    with without_graphs():
        start("causal-lm", "lstm", overrides=body, **letters, **BACKWARD)
    model, tokenizer, _ = load_run(tmp_path / "lstm")
    assert tokenizer.split("cab")[-3:] == ["c", "a", "b"]
    states = WordStates(model, tokenizer)
    [found] = states.read([["cab", "bed"]])
    assert found.shape == (2, 2, 16)
    # What is read last, from the end, changes nothing of what was read before.
    np.testing.assert_array_equal(states.read([["dac", "bed"]])[0][1], found[1])


def test_a_direction_is_one_of_two_and_of_causal_lm(start: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="direction must be one of .*, got 'up'"):
        TextOptions(direction="up")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="direction='backward' is for causal-lm, not for masked"):
        start("masked-lm", "run", PLAIN, **BACKWARD)


@pytest.mark.exhaustive
def test_a_language_model_of_characters_reads_each(
    start: Callable[..., Any], tmp_path: Path
) -> None:
    settings = {"vocab_size": None, "tokenizer_type": "char", "options": {"max_steps": 2}}
    with without_graphs():
        start("causal-lm", "letters", **BACKWARD, **settings)
    model, tokenizer, _ = load_run(tmp_path / "letters")
    assert tokenizer.split("cab")[-3:] == ["c", "a", "b"]
    [scored] = Generator(model, tokenizer).score(["cab"])
    assert len(scored.ids) == 4
