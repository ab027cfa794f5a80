"""Long texts with a memory, read line by line and written: as one pass, in Keras and exported."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer import Generator, OnnxGenerator, from_pretrained
from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.decoding.parts import CachedSteps, SharedDecoder
from keras_transformer.export import export_onnx
from tools.covering import some

FIXTURE = Path(__file__).parents[1] / "fixtures" / "stacks" / "transfo_xl"
LINES = ["A man in a red shirt", "two dogs run", "", "on the grass", "A woman sits on a bench."]


@pytest.fixture(scope="module", params=["keras", "onnx"])
def generator(request: pytest.FixtureRequest, tmp_path_factory) -> Any:
    """A random Transformer-XL that remembers six tokens, live and exported."""
    model, tokenizer, _ = from_pretrained(FIXTURE)
    if request.param == "keras":
        return Generator(model, tokenizer)
    path = tmp_path_factory.mktemp("exported") / "model"
    return OnnxGenerator(export_onnx(model, tokenizer, path), threads=1)


mostly_exported = pytest.mark.parametrize(
    "generator", some(["keras", "onnx"], "onnx"), indirect=True, scope="module"
)


@pytest.fixture(scope="module")
def whole() -> list[float]:
    """The log-probability of each line given the lines before, from one pass over all of them."""
    model, tokenizer, _ = from_pretrained(FIXTURE)
    rows = [[*row, model.config.special_ids.eos] for row in tokenizer.encode(LINES)]
    ids = np.array([token for row in rows for token in row])
    read = np.array([[model.config.special_ids.decoder_start, *ids[:-1]]], np.int32)
    logits = np.asarray(model({"token_ids": read}), np.float64)[0]
    values = logits[np.arange(len(ids)), ids] - np.log(np.exp(logits).sum(axis=-1))
    return [one.sum() for one in np.split(values, np.cumsum(list(map(len, rows)))[:-1])]


@pytest.mark.parametrize("cut", [0, 1, 3, 5])
def test_lines_are_scored_as_in_one_pass(cut: int, generator: Any, whole: list[float]) -> None:
    first, before = generator.read_on(LINES[:cut])
    then, _ = generator.read_on(LINES[cut:], before)
    found = [one.log_probability for one in (*first, *then)]
    np.testing.assert_allclose(found, whole, atol=1e-3)


@mostly_exported
def test_a_line_of_any_length_is_read(generator: Any) -> None:
    [one], _ = generator.read_on(["a man in a red shirt sits " * 400])
    assert len(one.ids) > generator.max_text_length > 0
    assert -np.inf < one.log_probability < 0


def test_a_model_without_memory_is_refused() -> None:
    model, tokenizer, _ = from_pretrained(FIXTURE.with_name("gpt2"))
    with pytest.raises(ValueError, match="without memory_length remembers nothing of what it read"):
        Generator(model, tokenizer).read_on(LINES)


@mostly_exported
def test_texts_beyond_the_memory_are_those_of_one_pass(generator: Any) -> None:
    model, tokenizer, _ = from_pretrained(FIXTURE)
    prompts = tokenizer.encode(["A man in a red shirt", "two dogs"])
    found = generator.generate_ids(prompts, max_length=40, min_length=40)
    for prompt, [best] in zip(prompts, found, strict=True):
        read = np.array([[model.config.special_ids.decoder_start, *prompt, *best.ids]], np.int32)
        logits = np.array(model({"token_ids": read}))[0, len(prompt) : -1]
        logits[:, [model.config.special_ids.eos, model.config.special_ids.pad]] = -np.inf
        assert logits.argmax(axis=-1).tolist() == list(best.ids)


def test_caches_hold_what_is_read_and_no_more() -> None:
    model, _, _ = from_pretrained(FIXTURE)
    steps = CachedSteps(SharedDecoder(model), model.config.special_ids)
    caches = steps.grow(steps.start(2, 3), 50)
    assert model.config.cache_room == 5 and caches[0][0].shape[2] == 5
    _, caches = steps.read(np.full((2, 9), 7, np.int32), None, np.int32(0), caches)
    _, caches = steps.step(np.full(2, 7, np.int32), np.int32(9), caches)
    assert {part.shape[2] for cache in caches for part in cache} == {5}


@pytest.mark.parametrize(
    ("fields", "room"),
    [
        ({"memory_length": 6, "relative_sinusoids": True}, 6),
        ({"memory_length": 6, "relative_sinusoids": True, "window": 9}, 8),
        ({"memory_length": 6, "rotary_base": 100.0}, None),
        ({"relative_sinusoids": True}, None),
    ],
)
def test_places_may_be_counted_anew_where_distances_alone_are_read(
    fields: dict[str, Any], room: int | None
) -> None:
    sizes = {"vocab_size": 30, "positions": "none", "max_positions": None}
    assert DecoderConfig(**sizes, **fields).cache_room == room
