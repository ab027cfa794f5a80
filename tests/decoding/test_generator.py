"""The Keras side of decoders alone: against the uncached model, and what it promises."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.decoding.generator import Generator
from keras_transformer.generation.engine import NoRoomError
from keras_transformer.runs.finished_run import write_finished_run
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.search.random_numbers import uniforms
from keras_transformer.search.text_limits import LongTextError
from keras_transformer.text.tokenizer import Tokenizer

PROMPTS = [
    "the red dog",
    "",
    "we see three birds and the river",
    "hello",
    "a small house stands by",
]
OPTIONS = {"max_length": 7}


@pytest.fixture(scope="module", params=["gpt2", "modern"])
def generator(
    request: pytest.FixtureRequest,
    gpt2: Generator,
    small_decoder: Callable[..., Any],
    masked_tokenizer: Tokenizer,
) -> Generator:
    if request.param == "gpt2":
        return gpt2
    modern = {
        "positions": "none",
        "max_positions": None,
        "rotary_base": 100.0,
        "norm_kind": "rms_norm",
        "num_key_value_heads": 2,
        "gated_feed_forward": True,
    }
    return Generator(small_decoder(**modern), masked_tokenizer)


@pytest.fixture(scope="module")
def gpt2(small_decoder: Callable[..., Any], masked_tokenizer: Tokenizer) -> Generator:
    return Generator(small_decoder(), masked_tokenizer)


def log_probs_after(generator: Generator, ids: Sequence[int]) -> np.ndarray:
    """Log-probabilities (len(ids) + 1, vocabulary) from a full pass, in float64."""
    start = generator.config.special_ids.decoder_start
    [logits] = np.asarray(generator.model({"token_ids": np.array([[start, *ids]])}), np.float64)
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def test_greedy_is_the_uncached_argmax_loop(generator: Generator) -> None:
    """Each token follows from those before it, so that one pass over all is the loop."""
    special = generator.config.special_ids
    found = generator.generate_n_best(PROMPTS, **OPTIONS)
    for prompt, [best] in zip(generator.tokenizer.encode(PROMPTS), found, strict=True):
        scores = log_probs_after(generator, [*prompt, *best.ids])[len(prompt) :]
        scores[:, sorted(special.never_generated)] = -np.inf
        scores[0, special.eos] = -np.inf
        assert [*best.ids, special.eos][:7] == scores.argmax(axis=-1).tolist()[:7]


@pytest.mark.parametrize("length_penalty", [pytest.param(0.0, marks=pytest.mark.exhaustive), 0.6])
def test_scores_are_those_of_the_new_tokens_in_a_full_pass(
    gpt2: Generator, length_penalty: float
) -> None:
    found = gpt2.generate_n_best(
        PROMPTS, beam_size=4, num_hypotheses=3, length_penalty=length_penalty, **OPTIONS
    )
    for prompt, hypotheses in zip(gpt2.tokenizer.encode(PROMPTS), found, strict=True):
        assert len({tuple(one.ids) for one in hypotheses}) == 3
        for one in hypotheses:
            table = log_probs_after(gpt2, [*prompt, *one.ids])[len(prompt) :]
            tokens = [*one.ids, gpt2.config.special_ids.eos][:7]
            total = sum(table[step, token] for step, token in enumerate(tokens))
            assert one.log_probability == pytest.approx(total, abs=1e-4)
            penalty = ((5 + len(tokens)) / 6) ** length_penalty
            assert one.score == pytest.approx(total / penalty, abs=1e-4)


SEARCHES = [
    {},
    {"beam_size": 4, "num_hypotheses": 3},
    *(
        pytest.param(search, marks=pytest.mark.exhaustive)
        for search in (
            {"sample": True, "seed": 4, "num_hypotheses": 3},
            {"beam_size": 3, "early_stopping": "exact", "min_length": 3},
            {"no_repeat_ngram_size": 2, "repetition_penalty": 1.3},
            {"forced_tokens": [(1, 9)], "min_length": 4},
        )
    ),
]


@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_a_batch_equals_its_prompts_in_their_order(gpt2: Generator, search: dict[str, Any]) -> None:
    together = gpt2.generate_n_best(PROMPTS, **OPTIONS, **search)
    if search.get("sample"):  # Its place among the prompts decides what a sample is.
        split = Generator(gpt2.model, gpt2.tokenizer, batch_tokens=1)
        apart = split.generate_n_best(PROMPTS, **OPTIONS, **search)
    else:
        apart = [gpt2.generate_n_best([prompt], **OPTIONS, **search)[0] for prompt in PROMPTS]
    for found, expected in zip(together, apart, strict=True):
        assert [one.ids for one in found] == [one.ids for one in expected]
        np.testing.assert_allclose(
            [one.score for one in found], [one.score for one in expected], atol=1e-4
        )


def test_lengths_and_places_count_new_tokens(gpt2: Generator) -> None:
    prompts = gpt2.tokenizer.encode(PROMPTS)
    found = gpt2.generate_ids(prompts, max_length=6, min_length=6, forced_tokens=[(2, 9)])
    for [candidate] in found:
        assert len(candidate.ids) == 6
        assert candidate.ids[2] == 9


def test_a_sample_is_drawn_by_the_numbers_of_its_new_tokens(gpt2: Generator) -> None:
    prompts = gpt2.tokenizer.encode(PROMPTS)
    found = gpt2.generate_ids(prompts, sample=True, seed=3, num_hypotheses=2, max_length=4)
    never = sorted(gpt2.config.special_ids.never_generated)
    for place, (prompt, samples) in enumerate(zip(prompts, found, strict=True)):
        for rank, sample in enumerate(samples):
            numbers = uniforms(3, place, rank, 4)
            table = log_probs_after(gpt2, [*prompt, *sample.ids])[len(prompt) :]
            for step, token in enumerate(sample.ids):
                weights = np.exp(table[step])
                weights[never] = 0
                weights[gpt2.config.special_ids.eos] *= step > 0
                order = np.argsort(-weights, kind="stable")
                reached = np.cumsum(weights[order])
                assert order[np.argmax(reached > numbers[step] * reached[-1])] == token


def test_a_text_begins_with_its_prompt_as_it_was_written(gpt2: Generator) -> None:
    prompts = ["  the  red", "hello ", "", "ﬁne"]
    texts = gpt2.generate(prompts, **OPTIONS)
    plain = gpt2.generate(prompts, include_prompt=False, **OPTIONS)
    ids = gpt2.tokenizer.encode(prompts)
    for prompt, row, text, new, [best] in zip(
        prompts, ids, texts, plain, gpt2.generate_ids(ids, **OPTIONS), strict=True
    ):
        assert text.startswith(prompt)
        whole, begun = gpt2.tokenizer.decode([[*row, *best.ids], row])
        assert (text[len(prompt) :].strip(" "), new) == (whole[len(begun) :].strip(" "),) * 2
        assert not prompt.endswith(" ") or not text[len(prompt) :].startswith(" ")


@pytest.mark.parametrize(
    "include_prompt", [True, pytest.param(False, marks=pytest.mark.exhaustive)]
)
@pytest.mark.parametrize(
    "search",
    [
        {},
        pytest.param({"sample": True, "seed": 2}, marks=pytest.mark.exhaustive),
        pytest.param({"early_stopping": "exact"}, marks=pytest.mark.exhaustive),
    ],
)
def test_the_pieces_of_a_stream_are_the_text(
    gpt2: Generator, search: dict[str, Any], include_prompt: bool
) -> None:
    for prompt in (PROMPTS[0], ""):
        options = {"include_prompt": include_prompt, "max_length": 40, **search}
        pieces = list(gpt2.stream(prompt, **options))
        assert all(pieces)
        assert ["".join(pieces)] == gpt2.generate([prompt], **options)


def test_a_stream_is_one_text(gpt2: Generator) -> None:
    with pytest.raises(ValueError, match="beam_size 1 and num_hypotheses 1, got 2 and 1"):
        gpt2.stream("a", beam_size=2)


def test_perplexity_is_that_of_a_full_pass(generator: Generator) -> None:
    eos = generator.config.special_ids.eos
    texts = [*PROMPTS, "the red dog"]
    scored, perplexities = generator.score(texts), generator.perplexity(texts)
    for ids, one, perplexity in zip(
        generator.tokenizer.encode(texts), scored, perplexities, strict=True
    ):
        table = log_probs_after(generator, ids)
        total = sum(table[step, token] for step, token in enumerate([*ids, eos]))
        assert one.log_probability == pytest.approx(total, abs=1e-4)
        assert perplexity == pytest.approx(np.exp(-total / (len(ids) + 1)), rel=1e-4)
    assert generator.perplexity([]) == []


def test_learned_positions_end_a_text(gpt2: Generator) -> None:
    prompts = [[9] * 55, [9] * 59, [9] * 3]
    endless = {"banned_sequences": [[gpt2.config.special_ids.eos]]}
    found = gpt2.generate_ids(prompts, max_length=100, **endless)
    assert [len(one.ids) for [one] in found] == [5, 1, 57]
    with pytest.raises(LongTextError, match="has 60 tokens, more than the 59"):
        gpt2.generate_ids([[9] * 60])


def test_a_prompt_leaves_room_for_the_shortest_text(gpt2: Generator) -> None:
    [[one]] = gpt2.generate_ids([[9] * 55], max_length=5, min_length=5)
    assert len(one.ids) == 5
    message = (
        r"index 1 has 56 tokens, which leaves 4 of the model's 60 positions to write to, fewer "
        r"than min_length \(5\)"
    )
    with pytest.raises(NoRoomError, match=message) as error:
        gpt2.generate_ids([[9], [9] * 56], max_length=5, min_length=5)
    assert error.value.index == 1


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"max_length": 20}, 40),
        ({"max_length": 1}, 59),
        ({"max_length": 256}, 30),
        ({"max_length": 50, "min_length": 50}, 10),
    ],
)
def test_a_cut_prompt_leaves_room_to_write(
    gpt2: Generator, options: dict[str, int], kept: int
) -> None:
    cuts = Generator(gpt2.model, gpt2.tokenizer, long_texts="cut")
    assert cuts.longest_prompt(cuts.search_options(**options)) == kept


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("options", "kept"),
    [({"max_length": 1}, 59), pytest.param({"max_length": 20}, 40, marks=pytest.mark.exhaustive)],
)
def test_a_cut_prompt_is_its_end(gpt2: Generator, options: dict[str, int], kept: int) -> None:
    cuts = Generator(gpt2.model, gpt2.tokenizer, long_texts="cut")
    prompt = [9 + place % 7 for place in range(100)]
    assert cuts.generate_ids([prompt], **options) == gpt2.generate_ids([prompt[-kept:]], **options)


def test_prompts_may_be_any_iterable_and_ids_are_integers(gpt2: Generator) -> None:
    assert gpt2.generate(iter(["a"]), max_length=3) == gpt2.generate(["a"], max_length=3)
    n_best = gpt2.generate_n_best(iter(["a"]), max_length=3)
    assert n_best == gpt2.generate_n_best(["a"], max_length=3)
    for ids in ([[4.5]], [4]):
        with pytest.raises(TypeError, match="ids must be rows of integers"):
            gpt2.generate_ids(ids)


def test_samples_of_later_calls_are_those_of_one(gpt2: Generator) -> None:
    options = {"sample": True, "seed": 3, "max_length": 8}
    prompts = [[9, 10]] * 5
    whole = gpt2.generate_ids(prompts, **options)
    assert len({tuple(one.ids) for [one] in whole}) > 1
    later = gpt2.generate_ids(prompts[:2], first_place=3, **options)
    assert [[one.ids for one in found] for found in later] == [
        [one.ids for one in found] for found in whole[3:]
    ]
    # Products of two rows and of five may add in another order.
    for [one], [other] in zip(later, whole[3:], strict=True):
        assert one.score == pytest.approx(other.score, rel=1e-6)
        assert one.log_probability == pytest.approx(other.log_probability, rel=1e-6)


def test_long_prompts_lose_their_beginning(gpt2: Generator) -> None:
    cuts = Generator(gpt2.model, gpt2.tokenizer, max_text_length=5, long_texts="cut")
    prompt = [9, 10, 11, 12, 13, 14, 15]
    assert cuts.generate_ids([prompt], **OPTIONS) == gpt2.generate_ids([prompt[-5:]], **OPTIONS)
    [text] = cuts.score(["we see three birds and the river"])
    assert len(text.ids) == 5


@pytest.mark.parametrize(
    ("prompts", "options", "message"),
    [
        ([[9, 3]], {}, "prompt 0 holds token 3: it must hold ids of text"),
        ([[9], [60]], {}, "token ids must lie in 0 to 59, got 60 in row 1"),
        ([[9]], {"max_length_ratio": 2}, "max_length_ratio is for translations"),
        ([[9]], {"banned_sequences": [[70]]}, "banned_sequences names token 70"),
    ],
)
def test_what_does_not_fit_the_model_is_refused(
    gpt2: Generator, prompts: list[list[int]], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        gpt2.generate_ids(prompts, **options)


def test_ids_beyond_the_positions_are_told_how_many_there_are(gpt2: Generator) -> None:
    positions = gpt2.config.max_positions
    message = f"row 1 has {positions} tokens, and the model's {positions} positions .* leave "
    with pytest.raises(ValueError, match=message + f"{positions - 1} behind the start token"):
        gpt2.model.generate([[9], [5] * positions], max_length=3)


def test_a_run_brings_its_search_unless_one_is_given(
    small_decoder: Callable[..., Any], masked_tokenizer: Tokenizer, tmp_path: Path
) -> None:
    record = {"search": {"beam_size": 2}}
    sides = (masked_tokenizer, masked_tokenizer)
    write_finished_run(RunDirectory(tmp_path), small_decoder(), sides, record)
    opened = Generator.from_run(tmp_path, max_text_length=9)
    assert (opened.search, opened.max_text_length) == ({"beam_size": 2}, 9)
    assert Generator.from_run(tmp_path, search={}).search == {}
