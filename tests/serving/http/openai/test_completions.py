"""`POST /v1/completions` continues prompts as `OnnxGenerator` does, asked by OpenAI's client."""

import itertools
from typing import Any

import pytest

from keras_transformer.runtime.generator import OnnxGenerator

openai = pytest.importorskip("openai", reason="the package openai is not installed")

PROMPTS = ["the red", "", "hello ", "a small house stands"]
SEARCH = {"max_length": 6}


def texts(answer: Any) -> list[str]:
    return [choice.text for choice in answer.choices]


def test_continues_prompts(client: Any, generator: OnnxGenerator) -> None:
    answer = client.completions.create(model="demo", prompt=PROMPTS, max_tokens=6)
    assert texts(answer) == generator.generate(PROMPTS, include_prompt=False, **SEARCH)
    assert [choice.index for choice in answer.choices] == [0, 1, 2, 3]
    assert answer.model == "demo" and answer.object == "text_completion"


def test_echo_begins_with_the_prompt(client: Any, generator: OnnxGenerator) -> None:
    answer = client.completions.create(model="demo", prompt="the red", max_tokens=6, echo=True)
    assert texts(answer) == generator.generate(["the red"], **SEARCH)


def test_ids_are_read_as_they_are(client: Any, generator: OnnxGenerator) -> None:
    [ids] = generator.text_ids[0].encode(["the red"])
    start = generator.config.special_ids.decoder_start
    answer = client.completions.create(model="demo", prompt=[start, *ids], max_tokens=6)
    assert texts(answer) == generator.generate(["the red"], include_prompt=False, **SEARCH)
    assert answer.usage.prompt_tokens == len(ids) + 1


def test_counts_tokens(client: Any, generator: OnnxGenerator) -> None:
    # Whatever is drawn, no text ends before its limit.
    whole = {"max_tokens": 3, "extra_body": {"min_tokens": 3}}
    answer = client.completions.create(model="demo", prompt=["the red", "a"], n=2, **whole)
    read = sum(length + 1 for length in generator.text_lengths(["the red", "a"]))
    assert [choice.finish_reason for choice in answer.choices] == ["length"] * 4
    assert answer.usage.prompt_tokens == read
    assert answer.usage.completion_tokens == 12
    assert answer.usage.total_tokens == read + 12


def test_a_seed_gives_the_same_texts_again(client: Any) -> None:
    asked = {"model": "demo", "prompt": PROMPTS[:2], "n": 3, "seed": -7, "max_tokens": 9}
    once, again = (texts(client.completions.create(**asked)) for _ in range(2))
    assert once == again and len(set(once)) > 2


def test_several_texts_are_drawn(client: Any) -> None:
    asked = {"model": "demo", "prompt": "the red", "n": 9, "seed": 1, "max_tokens": 9}
    assert len(set(texts(client.completions.create(**asked)))) > 1
    assert len(set(texts(client.completions.create(**asked, temperature=0)))) == 1


def test_a_stop_ends_a_text(client: Any, generator: OnnxGenerator) -> None:
    [whole] = generator.generate(["the red"], include_prompt=False, max_length=9)
    stop = whole[3:6]
    answer = client.completions.create(model="demo", prompt="the red", stop=stop, max_tokens=9)
    [choice] = answer.choices
    assert choice.text == whole[: whole.index(stop)] and choice.finish_reason == "stop"


def test_a_temperature_of_0_is_greedy(client: Any, generator: OnnxGenerator) -> None:
    answer = client.completions.create(
        model="demo", prompt="the red", temperature=0, top_p=0.5, seed=3, max_tokens=6
    )
    assert texts(answer) == generator.generate(["the red"], include_prompt=False, **SEARCH)


def test_what_changes_no_answer_is_ignored(client: Any) -> None:
    answer = client.completions.create(
        model="demo", prompt="a", max_tokens=1, user="me", logit_bias={}, presence_penalty=0
    )
    assert len(answer.choices) == 1


@pytest.mark.parametrize(
    ("given", "param", "message"),
    [
        ({"max_tokens": 0}, "max_tokens", "from 1 to .*more than 40 count as 40 here.*, got 0"),
        # Rows of so many would take all memory.
        ({"prompt": ["a"] * 90_000, "n": 128, "seed": 1}, None, "256 sentences, got 11520000"),
        ({"extra_body": {"temperature": 10**400}}, "temperature", "a number from 0 to 2, got 1000"),
        ({"temperature": 3}, "temperature", "a number from 0 to 2, got 3"),
        ({"top_p": 0}, "top_p", "above 0"),
        ({"n": True}, "n", "an integer from 1 to 128, got True"),
        ({"stop": [1]}, "stop", "a string, got 1"),
        ({"prompt": [[]]}, "prompt", "a string"),
        ({"prompt": [1, 99]}, "prompt", "must lie in 0 to 59, got 99"),
        ({"prompt": "the river " * 30}, "prompt", "more than the limit of"),
        ({"suffix": "b"}, "suffix", "suffix is not supported"),
        ({"extra_body": {"beams": 3}}, "beams", "unknown field 'beams'"),
        ({"extra_body": {"max_token": 3}}, "max_token", "'max_token'; did you mean 'max_tokens'"),
    ],
)
def test_what_it_cannot_do_is_refused(
    client: Any, given: dict[str, Any], param: str | None, message: str
) -> None:
    with pytest.raises(openai.BadRequestError, match=message) as caught:
        client.completions.create(**{"model": "demo", "prompt": "a", **given})
    assert caught.value.param == param
    assert caught.value.type == "invalid_request_error"


def test_an_unknown_model_is_named(client: Any) -> None:
    with pytest.raises(openai.NotFoundError, match="no model 'gpt' is served: name one of demo"):
        client.completions.create(model="gpt", prompt="a")


def test_a_stream_has_the_same_texts(client: Any) -> None:
    asked = {"model": "demo", "prompt": PROMPTS[:2], "max_tokens": 6, "echo": True}
    whole = client.completions.create(**asked)
    *chunks, last = client.completions.create(
        **asked, stream=True, stream_options={"include_usage": True}
    )
    for place, choice in enumerate(whole.choices):
        own = [chunk.choices[0] for chunk in chunks if chunk.choices[0].index == place]
        assert "".join(one.text for one in own) == choice.text
        assert [one.finish_reason for one in own if one.finish_reason] == [choice.finish_reason]
    assert last.usage == whole.usage


def test_a_stream_that_is_refused_has_a_status(client: Any) -> None:
    with pytest.raises(openai.BadRequestError, match="more than the limit"):
        client.completions.create(model="demo", prompt="the river " * 30, stream=True)


def test_a_model_without_a_template_has_no_chats(client: Any) -> None:
    with pytest.raises(openai.BadRequestError, match="has no chat template: ask /v1/completions"):
        client.chat.completions.create(model="demo", messages=[{"role": "user", "content": "a"}])


def test_tokens_come_with_their_probabilities(client: Any, generator: OnnxGenerator) -> None:
    answer = client.completions.create(model="demo", prompt="the red", max_tokens=5, logprobs=2)
    [choice] = answer.choices
    [[best]] = generator.generate_n_best(["the red"], include_prompt=False, max_length=5)
    found = choice.logprobs
    assert sum(found.token_logprobs) == pytest.approx(best.log_probability, abs=1e-4)
    assert "".join(found.tokens) == choice.text == best.text
    assert found.text_offset[0] == len("the red")
    for token, value, tops in zip(
        found.tokens, found.token_logprobs, found.top_logprobs, strict=True
    ):
        # It was greedy.
        assert max(tops.values()) == pytest.approx(value) and tops[token] == pytest.approx(value)
        assert len(tops) == 2


def test_a_given_text_is_scored_alone(client: Any, generator: OnnxGenerator) -> None:
    answer = client.completions.create(
        model="demo", prompt="the red river", max_tokens=0, echo=True, logprobs=0
    )
    [choice] = answer.choices
    [scored] = generator.score(["the red river"])
    assert choice.text == "the red river" and answer.usage.completion_tokens == 0
    ended = client.completions.create(model="demo", prompt="the red river", max_tokens=1)
    assert ended.usage.completion_tokens == 1
    # Its end has a probability there, too.
    assert sum(choice.logprobs.token_logprobs) > scored.log_probability
    assert "".join(choice.logprobs.tokens) == "the red river"


@pytest.mark.parametrize("prompt", ["", "the red "])
@pytest.mark.parametrize("echo", [False, True])
def test_tokens_join_to_a_text_that_begins_without_a_space(
    client: Any, prompt: str, echo: bool
) -> None:
    asked = {"model": "demo", "prompt": prompt, "max_tokens": 8, "seed": 3, "echo": echo}
    [whole] = client.completions.create(**asked, logprobs=2).choices
    assert "".join(whole.logprobs.tokens) == whole.text and not whole.text.startswith(" ")
    ends = itertools.accumulate(map(len, whole.logprobs.tokens))
    first = 0 if echo else len(prompt)
    assert whole.logprobs.text_offset == [first, *(first + end for end in ends)][:-1]
    # The last token before a stop is there, too.
    [cut] = client.completions.create(**asked, logprobs=2, stop=whole.text[-1]).choices
    assert "".join(cut.logprobs.tokens).startswith(cut.text)


def test_a_chunk_has_the_tokens_that_begin_in_it(client: Any) -> None:
    asked = {"model": "demo", "prompt": "", "max_tokens": 8, "seed": 3, "logprobs": 2}
    for chunk in client.completions.create(**asked, stream=True):
        [one] = chunk.choices
        if one.logprobs:
            assert one.text.startswith("".join(one.logprobs.tokens))


@pytest.mark.parametrize("stop", [None, "e"])
@pytest.mark.parametrize("echo", [False, True])
def test_a_stream_has_the_same_probabilities(client: Any, echo: bool, stop: str | None) -> None:
    asked = {"model": "demo", "prompt": PROMPTS, "n": 2, "seed": 5, "stop": stop, "echo": echo}
    asked |= {"max_tokens": 9, "logprobs": 2}
    whole = client.completions.create(**asked)
    chunks = [chunk.choices[0] for chunk in client.completions.create(**asked, stream=True)]
    assert len(chunks) > 3 * len(whole.choices)
    for choice in whole.choices:
        own = [chunk for chunk in chunks if chunk.index == choice.index]
        assert "".join(one.text for one in own) == choice.text
        for name in ("tokens", "token_logprobs", "top_logprobs", "text_offset"):
            found = [row for one in own if one.logprobs for row in getattr(one.logprobs, name)]
            assert found == getattr(choice.logprobs, name)


def test_probabilities_reach_the_last_position(client: Any, generator: OnnxGenerator) -> None:
    room = generator.config.max_positions - generator.text_lengths(["the red"])[0]
    answer = client.completions.create(model="demo", prompt="the red", max_tokens=40, logprobs=0)
    assert answer.usage.completion_tokens == len(answer.choices[0].logprobs.tokens) == room
