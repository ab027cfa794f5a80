"""Every search of every engine follows a grammar, and says where a text could not."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from keras_transformer import OnnxGenerator
from keras_transformer.decoding.generator import Generator
from keras_transformer.search.grammars import UnfinishedError
from keras_transformer.search.options import SearchOptions
from tools.covering import some

pytest.importorskip("llguidance", reason="the package llguidance is not installed")

PROMPTS = ["the red dog", "", "we see three birds and the river", "hello"]
SEARCHES = [
    {},
    {"beam_size": 3, "num_hypotheses": 3},
    {"sample": True, "seed": 4, "num_hypotheses": 2},
    {"beam_size": 2, "early_stopping": "exact"},
]
REGEX = r"(the|a)( [a-z]{1,4}){2}"


@pytest.fixture(scope="module", params=some(["native", "onnxruntime"], "native"))
def onnx(request: pytest.FixtureRequest, export_small: Callable[..., Any]) -> Iterator[Any]:
    with OnnxGenerator(export_small("decoder", request.param).path) as generator:
        yield generator


@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_every_text_matches(onnx: OnnxGenerator, search: dict[str, Any]) -> None:
    for found in onnx.generate_n_best(PROMPTS, regex=REGEX, max_length=30, **search):
        for one in found:
            assert re.fullmatch(REGEX, one.text) and one.stop_reason == "eos"


def test_a_batch_writes_what_each_prompt_writes_alone(onnx: OnnxGenerator) -> None:
    alone = [onnx.generate([prompt], regex=REGEX)[0] for prompt in PROMPTS]
    assert onnx.generate(PROMPTS, regex=REGEX) == alone
    assert ["".join(onnx.stream(prompt, regex=REGEX)) for prompt in PROMPTS] == alone


def test_what_the_model_writes_by_itself_stays(onnx: OnnxGenerator) -> None:
    [[free]] = onnx.generate_n_best(PROMPTS[:1], include_prompt=False, max_length=8)
    found = onnx.generate_n_best(PROMPTS[:1], regex="(?s:.*)", max_length=8)
    assert (found[0][0].ids, found[0][0].score) == (free.ids, pytest.approx(free.score, abs=1e-4))


def test_the_best_choice_of_many_beams_is_the_most_probable(onnx: OnnxGenerator) -> None:
    choices = ["the river", "a dog", "red"]
    [[best, *_]] = onnx.generate_n_best(
        ["we see"], choices=choices, beam_size=8, length_penalty=0.0
    )
    scored = {text: onnx.score([f"we see {text}"])[0].log_probability for text in choices}
    assert best.text == max(scored, key=lambda text: scored[text])


def test_a_text_that_the_limit_cuts_off_says_so(onnx: OnnxGenerator) -> None:
    [[cut]] = onnx.generate_n_best(["hello"], regex=REGEX, max_length=2)
    assert cut.stop_reason == "length" and not re.fullmatch(REGEX, cut.text)
    with pytest.raises(UnfinishedError, match=r"1 of the texts .* regex: raise max_length \(2\)"):
        onnx.generate(["hello"], regex=REGEX, max_length=2)
    with pytest.raises(UnfinishedError):
        list(onnx.stream("hello", regex=REGEX, max_length=2))


def test_a_text_that_the_vocabulary_cannot_end_says_so(onnx: OnnxGenerator) -> None:
    [[found]] = onnx.generate_n_best(["hello"], regex="a東")
    assert (found.text, found.stop_reason) == ("", None)
    with pytest.raises(UnfinishedError):
        list(onnx.stream("hello", regex="a東"))


def test_ids_alone_follow_no_grammar(onnx: OnnxGenerator) -> None:
    with pytest.raises(ValueError, match="regex needs a tokenizer"):
        onnx.engine.search([[5]], SearchOptions(regex="a"))


@pytest.mark.parametrize("search", some(SEARCHES[:3], SEARCHES[1]), ids=str)
def test_the_keras_side_writes_the_same(
    export_small: Callable[..., Any], search: dict[str, Any]
) -> None:
    artefact = export_small("decoder", "native")
    ours = Generator(artefact.model, artefact.source_tokenizer)
    options = {"regex": REGEX, "max_length": 30, **search}
    with OnnxGenerator(artefact.path) as theirs:
        wanted = theirs.generate_n_best(PROMPTS[:2], **options)
        assert [[one.ids for one in found] for found in wanted] == [
            [one.ids for one in found] for found in ours.generate_n_best(PROMPTS[:2], **options)
        ]


def test_translators_refuse_a_grammar(exported_native: Any) -> None:
    from keras_transformer import OnnxTranslator

    with OnnxTranslator(exported_native.path) as translator:
        with pytest.raises(ValueError, match="regex is for generators"):
            translator.translate(["the red dog"], regex="a")
