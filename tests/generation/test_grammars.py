"""Grammars over every kind of vocabulary: whatever the draws, a text that ends follows its own."""

import json
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.generation.continuation import Continuation
from keras_transformer.generation.grammars import Grammars
from keras_transformer.search.options import SearchOptions
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer
from keras_transformer.translation.text_ids import TextIds

pytest.importorskip("llguidance", reason="the package llguidance is not installed")

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 6},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "kinds": {"type": "array", "items": {"enum": ["ä", 'a "b"', None, 1.5]}, "maxItems": 3},
    },
    "required": ["name", "kinds"],
    "additionalProperties": False,
}
WORDS = ["a man", "a small dog", "the river"]
SEEDS = st.integers(0, 2**32 - 1)
NUMBER = r"[ab]{1,3}( man| dog)?"


@pytest.fixture(scope="module")
def vocabularies(
    tokenizer: Tokenizer, tokenizer_jsons: dict[str, bytes], texts: list[str]
) -> dict[str, TextIds]:
    read = {name: Tokenizer(content) for name, content in tokenizer_jsons.items()}
    read["sentencepiece"] = tokenizer
    read["bytes"] = train_tokenizer(texts, 320, "bpe", byte_fallback=True)
    return {name: TextIds(one.subwords, one.special_ids) for name, one in read.items()}


def draw(text_ids: TextIds, seed: int, prompt: str = "", **options: Any) -> str | None:
    """Draws allowed ids until the text ends; None where none is allowed."""
    chosen, draws = SearchOptions(**options), np.random.default_rng(seed)
    size = text_ids.subwords.size + 5
    state = start = Grammars(text_ids, size).start(chosen)
    ids: list[int] = []
    while state is not None:
        places = np.flatnonzero(state.allowed)
        if not len(places):
            return None
        ids.append(int(draws.choice(places)))
        state = state.after(ids[-1])
    [said] = text_ids.encode([prompt])
    written = Continuation(text_ids, chosen, prompt, said, start)
    text = "".join(written.pieces(ids[:-1]))
    assert written.is_whole
    return text


@settings(max_examples=40, deadline=None)
@given(
    seed=SEEDS,
    kind=st.sampled_from(["gpt2", "roberta", "bytes"]),
    prompt=st.sampled_from(["", "a man"]),
)
def test_a_vocabulary_of_bytes_writes_what_a_schema_says(
    vocabularies: dict[str, TextIds], seed: int, kind: str, prompt: str
) -> None:
    text = draw(vocabularies[kind], seed, prompt, json_schema=SCHEMA)
    assert text is not None
    found = json.loads(text)
    assert set(found) >= {"name", "kinds"} and len(found["name"]) <= 6
    assert all(one in ("ä", 'a "b"', None, 1.5) for one in found["kinds"])


@settings(max_examples=60, deadline=None)
@given(
    seed=SEEDS,
    kind=st.sampled_from(["sentencepiece", "wordpiece", "gpt2", "roberta", "bytes"]),
    prompt=st.sampled_from(["", "a man", "the "]),
)
def test_every_vocabulary_writes_matches_and_choices(
    vocabularies: dict[str, TextIds], seed: int, kind: str, prompt: str
) -> None:
    text = draw(vocabularies[kind], seed, prompt, choices=WORDS)
    assert text is None or text in WORDS
    text = draw(vocabularies[kind], seed, prompt, regex=NUMBER)
    assert text is None or re.fullmatch(NUMBER, text)


def test_a_word_may_begin_a_text_with_its_space_left_out(vocabularies: dict[str, TextIds]) -> None:
    """Else a vocabulary of words would have to spell the first one letter by letter."""
    text_ids = vocabularies["sentencepiece"]
    [[first, *_]] = text_ids.encode(["a man"])
    assert text_ids.subwords.spelling(first).startswith(" ")
    start = Grammars(text_ids, text_ids.subwords.size).start(SearchOptions(choices=("a man",)))
    assert start is not None and start.allowed[first]


def test_ends_are_allowed_where_the_text_is_whole(vocabularies: dict[str, TextIds]) -> None:
    text_ids = vocabularies["gpt2"]
    [[stop, token]] = text_ids.encode(["xa"])
    options = SearchOptions(regex="a+", stop_tokens=(stop,))
    state = Grammars(text_ids, text_ids.subwords.size + 5).start(options)
    ends = [stop, text_ids.special_ids.eos]
    assert state is not None and not state.allowed[ends].any() and not state.is_whole
    state = state.after(token)
    assert state is not None and state.allowed[ends].all() and state.is_whole
    assert state.after(stop) is None


def test_nothing_follows_what_was_not_allowed(vocabularies: dict[str, TextIds]) -> None:
    text_ids = vocabularies["gpt2"]
    [[token]] = text_ids.encode(["x"])
    start = Grammars(text_ids, text_ids.subwords.size).start(SearchOptions(regex="a+"))
    state = start.after(token) if start else None
    assert state is not None and not state.allowed.any() and not state.is_whole


@pytest.mark.parametrize(
    "given, message",
    [
        ({"regex": "("}, "regex cannot be followed: .*unclosed group"),
        ({"regex": "(?=a)b"}, "look-around"),
        ({"json_schema": {"type": "strin"}}, "json_schema cannot be followed: Invalid type: strin"),
        ({"json_schema": {"type": "integer", "minimum": 2, "maximum": 1}}, "Unsatisfiable schema"),
        ({"json_schema": {"$ref": "#"}}, r"no token of the vocabulary begins such a text\.$"),
        ({"json_schema": {"$ref": "https://localhost/a"}}, "json_schema cannot be followed"),
        ({"json_schema": {"enum": [f"{n}" for n in range(4000)]}}, None),
        ({"regex": "(a{1000}){1000}"}, None),
        ({"regex": r"(.*\p{L}){200}"}, None),
    ],
)
def test_a_grammar_is_refused_or_followed_soon(
    vocabularies: dict[str, TextIds], given: dict[str, Any], message: str | None
) -> None:
    grammars, options = Grammars(vocabularies["gpt2"], 400), SearchOptions(**given)
    if message is None:
        assert grammars.start(options)
        return
    with pytest.raises(ValueError, match=message):
        grammars.start(options)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"choices": ("東京", "京")},
            "choices cannot .* such a text, which begins with '京' or '東'",
        ),
        (
            {"regex": "[0-9]+"},
            "regex cannot .* text, which begins with '0' or '1' or '2' or others",
        ),
        (
            {"json_schema": {"type": "object"}},
            r"any object \(json_object\) .* begins with '{'",
        ),
        ({"json_schema": {"enum": [[1]]}}, r"json_schema cannot .* begins with '\['"),
    ],
)
def test_what_the_vocabulary_cannot_begin_is_named(
    vocabularies: dict[str, TextIds], given: dict[str, Any], message: str
) -> None:
    text_ids = vocabularies["sentencepiece"]
    with pytest.raises(ValueError, match=f"{message}: train on texts that have it.$"):
        Grammars(text_ids, text_ids.subwords.size).start(SearchOptions(**given))


def test_without_the_package_the_message_names_the_extra(
    vocabularies: dict[str, TextIds], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "llguidance", None)
    grammars = Grammars(vocabularies["gpt2"], 400)
    assert grammars.start(SearchOptions()) is None
    with pytest.raises(ImportError, match=r"pip install .*\[structured\]"):
        grammars.start(SearchOptions(regex="a"))
