"""`generate` and `perplexity` on a stand-in for the model: lines in, lines out."""

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import pytest

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.search.grammars import GRAMMARS
from keras_transformer.search.options import Hypothesis, SearchOptions
from keras_transformer.search.stops import StopReason


@dataclasses.dataclass
class ShoutingGenerator:
    """Continues texts with exclamation marks; remembers blocks and options."""

    max_text_length = 100
    config = DecoderConfig(vocab_size=10, max_positions=120)
    blocks: list[list[str]] = dataclasses.field(default_factory=list)
    options: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    stop_reason: StopReason | None = None

    def text_lengths(self, texts: Sequence[str]) -> list[int]:
        return list(map(len, texts))

    def longest_prompt(self, options: SearchOptions) -> int:
        return min(self.max_text_length, 120 - min(options.max_length, 60))

    def generate(self, prompts: Sequence[str], **options: Any) -> list[str]:
        self.blocks.append(list(prompts))
        self.options.append(options)
        return [f"{prompt}!\n" for prompt in prompts]

    def generate_n_best(self, prompts: Sequence[str], **options: Any) -> list[list[Hypothesis]]:
        self.generate(prompts, **options)
        ranks = range(min(2, options["num_hypotheses"]))
        return [
            [
                Hypothesis(
                    prompt + "!" * (1 + rank), [], -0.5 - rank, -1.0, stop_reason=self.stop_reason
                )
                for rank in ranks
            ]
            for prompt in prompts
        ]

    def stream(self, prompt: str, **options: Any) -> Iterator[str]:
        self.options.append(options)
        yield from (prompt, "!", "\n!")

    def check_grammar(self, options: SearchOptions) -> None:
        if options.regex == "(":
            raise ValueError("regex cannot be followed: unclosed group")

    def score(self, texts: Sequence[str]) -> list[Hypothesis]:
        return [Hypothesis(text, [9] * len(text), 0.0, -float(2 * len(text))) for text in texts]


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> ShoutingGenerator:
    """Stands in for the model of both commands."""
    made = ShoutingGenerator()
    for command in ("generate", "perplexity"):
        monkeypatch.setattr(
            f"keras_transformer.cli.commands.generation.{command}.open_generator",
            lambda *_, **__: made,
        )
    return made


def test_lines_keep_their_order_and_empty_lines_are_continued(run_cli, generator) -> None:
    result = run_cli("generate", "model", "--block-lines", 2, stdin="hola\n\n¿qué?\n".encode())
    assert (result.code, result.out) == (0, "hola! \n! \n¿qué?! \n")
    assert result.err == (
        "keras-transformer generate: blank lines of the input were answered as texts: 1 of 3 "
        "lines.\n"
    )
    assert generator.blocks == [["hola", ""], ["¿qué?"]]
    # The object says that the text is empty.
    assert run_cli("generate", "model", "--jsonl", stdin=b'{"text": ""}\n').err == ""


def test_a_temperature_of_0_is_told_how_to_be_greedy(run_cli, generator) -> None:
    result = run_cli("generate", "model", "--sample", "--temperature", 0, stdin=b"a\n")
    assert (result.code, result.out) == (1, "")
    assert "--temperature must be finite and above 0, got 0.0: leave it and --sample out" in (
        result.err
    )


def test_search_flags_reach_the_generator(run_cli, generator) -> None:
    flags = "--beam-size 4 --max-length 9 --min-length 2 --no-repeat-ngram-size 3"
    run_cli("generate", "model", *flags.split(), "--no-include-prompt", stdin=b"a\n")
    options = SearchOptions(beam_size=4, max_length=9, min_length=2, no_repeat_ngram_size=3)
    assert generator.options == [{**asdict(options), "include_prompt": False}]


def test_a_grammar_reaches_the_generator(run_cli, generator, tmp_path) -> None:
    schema, choices = tmp_path / "schema.json", tmp_path / "choices.txt"
    schema.write_text('{"type": "object"}', "utf-8")
    choices.write_text("yes\nno\n", "utf-8")
    given = [("--json-schema", schema), ("--json-schema", schema.read_text())]
    for flag, value in (*given, ("--choices", choices), ("--regex", "a+")):
        result = run_cli("generate", "model", flag, value, stdin=b"a\n")
        assert result.code == 0
        assert "line 1 of the input ended before it fulfilled" in result.err
    asked = [{name: one[name] for name in GRAMMARS} for one in generator.options]
    none = dict.fromkeys(GRAMMARS)
    assert asked == [
        *[{**none, "json_schema": '{"type": "object"}'}] * 2,
        {**none, "choices": ("yes", "no")},
        {**none, "regex": "a+"},
    ]


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("length", "before it fulfilled regex: raise --max-length.\n"),
        (None, "before it fulfilled regex: the vocabulary cannot write it.\n"),
        ("eos", ""),
        ("stop", ""),
    ],
)
def test_a_text_that_is_not_whole_is_told_why(
    run_cli, generator, reason: StopReason | None, said: str
) -> None:
    generator.stop_reason = reason
    result = run_cli("generate", "model", "--regex", "a+", stdin=b"a\n")
    assert result.err.endswith(said) and bool(result.err) is bool(said)


@pytest.mark.parametrize(
    "flags, message",
    [
        (["--regex", "("], "--regex cannot be followed: unclosed group"),
        (["--choices", "/dev/null"], "--choices must name 1 to 1024 texts, got 0"),
        (["--json-schema", "/dev/null"], "--json-schema must be a JSON schema"),
        (["--json-schema", "missing.json"], "no such file: missing.json"),
        (["--regex", "a", "--stop", "b"], "stop does not go with regex"),
    ],
)
def test_what_no_text_can_follow_is_refused_before_a_line_is_read(
    run_cli, generator, flags: list[str], message: str
) -> None:
    result = run_cli("generate", "model", *flags, stdin=b"a\n")
    assert result.code != 0 and message in result.err and not generator.blocks


def test_samples_know_their_place_in_the_whole_input(run_cli, generator, monkeypatch) -> None:
    flags = ["--sample", "--seed", 1, "--max-length", 9, "--block-lines", 2]
    run_cli("generate", "model", *flags, stdin=b"a\n" * 5)
    assert [options["first_place"] for options in generator.options] == [0, 2, 4]
    generator.options.clear()
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    run_cli("generate", "model", *flags, stdin=b"a\n" * 3)
    assert [options["first_place"] for options in generator.options] == [0, 1, 2]


def test_a_line_that_leaves_little_room_is_named(run_cli, generator) -> None:
    flags = ["--max-length", 50, "--block-lines", 1]
    stdin = b"a\n" + b"a" * 90 + b"\n"
    result = run_cli("generate", "model", *flags, stdin=stdin)
    assert result.err == (
        "keras-transformer generate: line 2 of the input was cut: it has 90 tokens, 70 are read.\n"
    )
    result = run_cli("generate", "model", *flags, "--long-lines", "refuse", stdin=stdin)
    assert (result.code, result.err) == (
        0,
        "keras-transformer generate: line 2 of the input has 90 tokens, which leaves 30 of the "
        "model's 120 positions to write to, fewer than --max-length (50).\n",
    )


def test_hypotheses_of_a_line_stand_together_and_keep_their_count(run_cli, generator) -> None:
    flags = "--sample --num-hypotheses 3 --scores".split()
    result = run_cli("generate", "model", *flags, stdin=b"a\nb\n")
    assert result.out.splitlines() == [
        "-0.500000\ta!",
        "-1.500000\ta!!",
        "-inf\t",
        "-0.500000\tb!",
        "-1.500000\tb!!",
        "-inf\t",
    ]


def test_a_terminal_sees_a_text_as_it_is_written(run_cli, generator, monkeypatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    result = run_cli("generate", "model", stdin=b"a\nb\n")
    assert (result.code, result.out) == (0, "a! !\nb! !\n")
    assert generator.blocks == []
    run_cli("generate", "model", "--beam-size", 2, stdin=b"a\n")
    assert generator.blocks == [["a"]]


@pytest.mark.parametrize("flag", ["--max-length-ratio", "--source-language", "--target-language"])
def test_what_only_translations_have_is_no_option(run_cli, generator, flag) -> None:
    result = run_cli("generate", "model", flag, 2, stdin=b"a\n")
    assert result.code == 2


def test_perplexities_are_those_of_lines_and_of_the_whole(run_cli, generator) -> None:
    result = run_cli("perplexity", "model", "--block-lines", 1, stdin=b"abc\n\na\n")
    lines = [math.exp(6 / 4), 1.0, math.exp(2 / 2)]
    assert result.out.splitlines() == [f"{line:.4f}" for line in lines]
    assert result.err == (
        f"perplexity of the whole text: {math.exp(8 / 6):.4f} (6 tokens with the ends of 2 lines; "
        "blank lines left out: 1)\n"
    )
    empty = run_cli("perplexity", "model", stdin=b"")
    assert (empty.code, empty.out, empty.err) == (0, "", "")


def test_an_infinite_perplexity_is_told(run_cli, generator, monkeypatch) -> None:
    monkeypatch.setattr(
        generator, "score", lambda texts: [Hypothesis(one, [5], -2000.0, -2000.0) for one in texts]
    )
    result = run_cli("perplexity", "model", stdin=b"a\n")
    assert (result.code, result.out) == (0, "inf\n")
    assert result.err.startswith("perplexity of the whole text: inf (2 tokens")
    result = run_cli("perplexity", "model", "--jsonl", stdin=b'{"text": "a"}\n')
    assert '"perplexity": null, "log_probability": -2000.0' in result.out


def test_stops_are_repeated_flags_that_replace_those_of_a_file(
    run_cli, generator, tmp_path
) -> None:
    run_cli("generate", "model", "--stop", "one", "--stop", "a b", "c", stdin=b"a\n")
    file = tmp_path / "search.yaml"
    file.write_text("stop: [x, y]\nstop_tokens: [4, 5]\n")
    run_cli("generate", "model", "--config", file, stdin=b"a\n")
    run_cli("generate", "model", "--config", file, "--stop", "z", stdin=b"a\n")
    stops = [options["stop"] for options in generator.options]
    assert stops == [("one", "a b", "c"), ("x", "y"), ("z",)]
    assert generator.options[1]["stop_tokens"] == (4, 5)
    result = run_cli("generate", "model", "--stop", "", stdin=b"a\n")
    assert (result.code, result.out) == (1, "")
    assert "--stop must hold strings of 1 to 256 characters, got one of 0" in result.err
