"""Stops of generators: every engine ends each row where its stop is complete, and says so."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from keras_transformer import OnnxGenerator
from keras_transformer.decoding.generator import Generator
from keras_transformer.generation.text_generator import TextGenerator
from keras_transformer.runtime.onnx_graphs.cache import KeyValueCache
from tools.covering import some

PROMPTS = ["the red dog", "", "we see three birds and the river", "hello"]
SEARCHES = [
    {},
    {"beam_size": 3, "num_hypotheses": 3},
    {"sample": True, "seed": 4, "num_hypotheses": 2},
]
LENGTH = 14
# Found across the ends of tokens of the small model's texts.
STOP = ["oll", ",a", ",,,m"]


@pytest.fixture(scope="module", params=some(["native", "onnxruntime"], "native"))
def onnx(request: pytest.FixtureRequest, export_small: Callable[..., Any]) -> Any:
    with OnnxGenerator(export_small("decoder", request.param).path) as generator:
        yield generator


@pytest.fixture(scope="module")
def keras_side(export_small: Callable[..., Any]) -> Generator:
    artefact = export_small("decoder", "native")
    return Generator(artefact.model, artefact.source_tokenizer)


def greedy_with_stop(generator: TextGenerator, prompt: str, **stops: Any) -> tuple[str, str]:
    """Decodes without a stop, token by token, and ends where the stop is complete."""
    [[whole]] = generator.generate_n_best([prompt], max_length=LENGTH, include_prompt=False)
    said = ""
    for count in range(1, len(whole.ids) + 1):
        if whole.ids[count - 1] in stops.get("stop_tokens", ()):
            return said, "stop"
        [[part]] = generator.generate_n_best([prompt], max_length=count, include_prompt=False)
        said = part.text
        for one in stops.get("stop", ()):
            if one in said:
                return said[: said.index(one)], "stop"
    return said, "length" if len(whole.ids) == LENGTH else "eos"


@pytest.fixture(params=["stop", "stop_tokens"])
def stops(request: pytest.FixtureRequest, onnx: OnnxGenerator) -> dict[str, Any]:
    if request.param == "stop":
        return {"stop": STOP}
    [[one], [other]] = onnx.generate_n_best(PROMPTS[2:], max_length=LENGTH)
    return {"stop_tokens": [one.ids[4], other.ids[1]]}


def test_each_row_ends_before_its_own_stop(onnx: OnnxGenerator, stops: dict[str, Any]) -> None:
    wanted = [greedy_with_stop(onnx, prompt, **stops) for prompt in PROMPTS]
    assert "stop" in {reason for _, reason in wanted}
    options = {"max_length": LENGTH, "include_prompt": False, **stops}
    assert onnx.generate(PROMPTS, **options) == [text for text, _ in wanted]
    found = onnx.generate_n_best(PROMPTS, **options)
    assert [(one.text, one.stop_reason) for [one] in found] == wanted
    for prompt, (text, _) in zip(PROMPTS, wanted, strict=True):
        assert "".join(onnx.stream(prompt, **options)) == text


@pytest.mark.parametrize("search", some(SEARCHES, *SEARCHES[1:]), ids=str)
def test_engines_agree_on_where_texts_end(
    onnx: OnnxGenerator, keras_side: Generator, search: dict[str, Any], stops: dict[str, Any]
) -> None:
    options = {"max_length": LENGTH, **search, **stops}
    found, theirs = (side.generate_n_best(PROMPTS, **options) for side in (onnx, keras_side))
    for prompt, row, other in zip(PROMPTS, found, theirs, strict=True):
        assert [(one.ids, one.text, one.stop_reason) for one in row] == [
            (one.ids, one.text, one.stop_reason) for one in other
        ]
        np.testing.assert_allclose(
            [one.score for one in row], [one.score for one in other], atol=1e-3
        )
        if not search.get("sample"):
            alone = onnx.generate_n_best([prompt], **options)[0]
            assert [one.ids for one in alone] == [one.ids for one in row]
        for one in row:
            text = one.text.removeprefix(prompt)
            assert not any(stop in text for stop in stops.get("stop", ()))
    assert "stop" in {one.stop_reason for row in found for one in row}


@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_the_search_ends_with_the_last_stop(
    onnx: OnnxGenerator, search: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    rooms = []
    make_room = KeyValueCache.make_room

    def noted(cache: Any, step: int) -> bool:
        rooms.append(step)
        return make_room(cache, step)

    monkeypatch.setattr(KeyValueCache, "make_room", noted)
    letters = [chr(ord("a") + number) for number in range(26)]
    onnx.generate(["hello"], max_length=250, stop=letters, **search)
    assert max(rooms) < 20


def test_a_stop_in_the_prompt_means_nothing(onnx: OnnxGenerator) -> None:
    plain = onnx.generate(["hello"], max_length=4)
    assert onnx.generate(["hello"], max_length=4, stop="hello") == plain


def test_a_stream_with_a_stop_ends_its_search(onnx: OnnxGenerator) -> None:
    said = list(onnx.stream("hello", max_length=100, stop="oll", include_prompt=False))
    assert "".join(said) == "iverll"


def test_a_model_alone_knows_no_texts(keras_side: Generator) -> None:
    with pytest.raises(ValueError, match=r"stop=\['x'\] needs a tokenizer"):
        keras_side.model.generate([[5, 6]], stop="x")
    found = keras_side.model.generate([[5, 6]], max_length=4, strip_prompt=True)
    ended = keras_side.model.generate(
        [[5, 6]], max_length=4, stop_tokens=[int(found[0, 0])], strip_prompt=True
    )
    assert ended.shape == (1, 1)


def test_a_stop_token_outside_the_vocabulary_is_refused(onnx: OnnxGenerator) -> None:
    with pytest.raises(ValueError, match="stop_tokens names token 60, but the target vocabulary"):
        onnx.generate(["hello"], stop_tokens=[60])
