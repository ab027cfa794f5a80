"""The boundary between a prompt and its continuation: joined, they are the whole text."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.generation.text_generator import TextGenerator
from keras_transformer.search.options import Candidate
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.translation.text_ids import TextIds

KINDS = ("sentencepiece", "wordpiece", "roberta", "gpt2")
PROMPTS = st.lists(
    st.sampled_from(["A man in", "hello", " ", "😀", ",", "a small", "ß", "\n", "", "riv", "it's"])
).map("".join)


class Scripted:
    """A `GenerationEngine` that continues every prompt with the same ids."""

    def __init__(self, config: DecoderConfig) -> None:
        self.config, self.ids = config, []

    def search(self, prompts: Any, options: Any, **_: Any) -> list[list[Candidate]]:
        return [[Candidate(self.ids, 0.0, 0.0)] for _ in prompts]

    def stream(self, prompt: Any, options: Any, grammar: Any = None) -> Iterator[int]:
        return iter(self.ids)


@pytest.fixture(scope="module", params=KINDS)
def generator(
    request: pytest.FixtureRequest, tokenizer: Tokenizer, tokenizer_jsons: dict[str, bytes]
) -> TextGenerator:
    name = request.param
    read = tokenizer if name == "sentencepiece" else Tokenizer(tokenizer_jsons[name])
    config = DecoderConfig(
        vocab_size=read.vocab_size,
        special_ids=read.special_ids,
        model_dim=4,
        num_heads=1,
        feed_forward_dim=4,
        num_layers=1,
        max_positions=None,
        positions="none",
    )
    return TextGenerator(Scripted(config), TextIds(read.subwords, read.special_ids), None, "refuse")


@settings(max_examples=150, deadline=None)
@given(prompt=PROMPTS, data=st.data())
def test_a_prompt_and_its_continuation_are_the_text(
    generator: TextGenerator, prompt: str, data: st.DataObject
) -> None:
    engine: Any = generator._engine
    tokens = engine.config.special_ids.text_ids(engine.config.vocab_size)
    engine.ids = data.draw(st.lists(st.sampled_from(tokens), max_size=6))
    [whole] = generator.generate([prompt])
    [new] = generator.generate([prompt], include_prompt=False)
    assert prompt + new == whole
    assert "".join(generator.stream(prompt, include_prompt=False)) == new
    [[one]] = generator.generate_n_best([prompt], include_prompt=False)
    assert one.text == new
    subwords = generator._text_ids.subwords
    if engine.ids and prompt.strip() and not subwords.keeps_spaces:
        # A word that begins behind the prompt is apart from it, by exactly one space.
        if subwords.spelling(engine.ids[0]).rstrip().startswith(" "):
            assert new.startswith(" ") != prompt[-1:].isspace()
