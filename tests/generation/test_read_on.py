"""Long texts read line by line with a memory: as one pass, in Keras and exported."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer import Generator, OnnxGenerator, from_pretrained
from keras_transformer.export import export_onnx

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


def test_a_line_of_any_length_is_read(generator: Any) -> None:
    [one], _ = generator.read_on(["a man in a red shirt sits " * 400])
    assert len(one.ids) > generator.max_text_length > 0
    assert -np.inf < one.log_probability < 0


def test_a_model_without_memory_is_refused() -> None:
    model, tokenizer, _ = from_pretrained(FIXTURE.with_name("gpt2"))
    with pytest.raises(ValueError, match="without memory_length remembers nothing of what it read"):
        Generator(model, tokenizer).read_on(LINES)
