"""`--jsonl` of every command on lines: objects come back as they came, with the answer added."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.config import TransformerConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.search.options import Hypothesis
from keras_transformer.text.tokenizer import train_tokenizer
from keras_transformer.understanding.masks import MissingMaskError
from keras_transformer.understanding.results import Classification, Filling, WordTag

TOKENIZER = train_tokenizer(["the red house"] * 2, 20, "bpe")
COMMANDS = {
    "translate": "translate",
    "score": "score",
    "tokenize": None,
    "generate": "generation.generate",
    "perplexity": "generation.perplexity",
    "classify": "understanding.classify",
    "tag": "understanding.tag",
    "embed": "understanding.embed",
    "fill-mask": "understanding.fill_mask",
}
HYPOTHESES = [
    {
        "text": text,
        "score": score,
        "log_probability": -2.0,
        "ids": [7, 8],
        "stop_reason": reason,
        "low_confidence": low,
    }
    for text, score, reason, low in (("A\nB", -0.5, "eos", True), ("", None, None, None))
]


class EveryConfig(EncoderConfig):
    """An encoder's, with what is asked of a decoder's."""

    memory_length = None


class EveryModel:
    """Answers alike whatever the texts are, but for texts of the word "bad"."""

    config = EveryConfig.preset("bert-tiny", vocab_size=10, labels=("x", "y"), head="tagging")
    max_text_length, min_score = 100, None

    def text_lengths(self, texts: Sequence[str]) -> list[int]:
        return list(map(len, texts))

    tag_lengths = text_lengths

    def longest_prompt(self, options: object) -> int:
        return 100

    def prompted(self, texts: Sequence[str], prompt_name: str | None) -> Sequence[str]:
        return texts

    def generate_n_best(self, texts: Sequence[str], **options: object) -> list[list[Hypothesis]]:
        self._check(texts)
        best = Hypothesis("A\nB", [7, 8], -0.5, -2.0, None, True, "eos")
        return [[best, Hypothesis("", [7, 8], -float("inf"), -2.0)] for _ in texts]

    translate_n_best = generate_n_best

    def score(self, texts: Sequence[str], targets: Sequence[str] = ()) -> list[Hypothesis]:
        self._check(texts)
        return [Hypothesis(text, [7, 8, 9], 0.0, -4.0) for text in texts]

    def classify(
        self,
        texts: Sequence[str],
        seconds: Sequence[str] | None = None,
        *,
        threshold: float | None = None,
    ) -> list[Classification]:
        self._check(texts)
        own = np.array([0.25, 0.75] if seconds is None else [0.5, 0.5], np.float32)
        return [Classification("y", own[1], own) for _ in texts]

    def tag(self, texts: Sequence[str]) -> list[list[WordTag]]:
        self._check(texts)
        return [[WordTag("a", "x", 0.5), WordTag("b", "", 0.0)] for _ in texts]

    def embed(self, texts: Sequence[str], pooling: object, *, prompt_name: object) -> np.ndarray:
        self._check(texts)
        return np.array([[0.5, np.nan]] * len(texts), np.float32)

    def fill_mask(self, texts: Sequence[str], count: int) -> list[list[Filling]]:
        self._check(texts)
        return [[Filling("one two", ["one"], -0.5)] * count for _ in texts]

    def _check(self, texts: Sequence[str]) -> None:
        for index, text in enumerate(texts):
            if text == "bad":
                raise MissingMaskError(index, "<mask>")


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A run with a tokenizer; a stand-in is the model of every command."""
    for module in filter(None, COMMANDS.values()):
        for name in ("translator", "whole_text_translator", "generator", "encoder"):
            opener = f"keras_transformer.cli.commands.{module}.open_{name}"
            monkeypatch.setattr(opener, lambda *_, **__: EveryModel(), raising=False)
    run = RunDirectory(tmp_path)
    run.save_config(TransformerConfig.preset("tiny", vocab_size=20))
    run.save_tokenizers(TOKENIZER, TOKENIZER)
    return tmp_path


def _line(command: str, text: str = "the red", begin: str = "") -> str:
    keys = {"source": text, "target": "t"} if command == "score" else {"text": text}
    return "{" + begin + json.dumps(keys, ensure_ascii=False)[1:]


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("translate", {"hypotheses": HYPOTHESES}),
        ("score", {"score": -4.0, "ids": [7, 8, 9]}),
        ("tokenize", {"pieces": TOKENIZER.split("the red")}),
        ("tokenize --ids", {"ids": TOKENIZER.encode(["the red"])[0]}),
        ("generate", {"hypotheses": HYPOTHESES}),
        (
            "perplexity",
            {"perplexity": pytest.approx(2.71828, 1e-5), "log_probability": -4.0, "ids": [7, 8, 9]},
        ),
        ("classify", {"label": "y", "probability": 0.75, "probabilities": {"x": 0.25, "y": 0.75}}),
        ("tag", {"words": ["a", "b"], "tags": ["x", None], "probabilities": [0.5, None]}),
        ("embed", {"vector": [0.5, None]}),
        (
            "fill-mask",
            {"hypotheses": [{"text": "one two", "tokens": ["one"], "score": -0.5}]},
        ),
    ],
)
def test_an_object_comes_back_as_it_came_with_the_answer(run_cli, model, command, more) -> None:
    name, *flags = command.split()
    ids = ("1", '"\\u00e9 é"', "null", "1.50", "[1e400, {}]", "12345678901234567890123", "true")
    lines = [_line(name, begin=f'"id":{one} , "\\ud800": "kept",') for one in ids]
    stdin = "\r\n".join(lines[:2] + [f"  {lines[2][:-1]}\t}} ", *lines[3:]]).encode()
    result = run_cli(name, model, "--jsonl", *flags, stdin=stdin)
    assert result.code == 0
    written = result.out.splitlines()
    assert len(written) == len(ids)
    for came, line in zip(lines, written, strict=True):
        assert line.strip().startswith(came[:-1])
        record = json.loads(line)
        assert {key: record[key] for key in record if key not in json.loads(came)} == more


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda line: "", "got an empty line"),
        (lambda line: "the red", "expected a JSON object, got 'the red': Expecting value"),
        (lambda line: line[:-1], "at character"),
        (lambda line: f"[{line}]", "expected a JSON object, got '["),
        (lambda line: "[" * 100_000, "cannot read the JSON"),
        (lambda line: '{"id": 1}', "(a text), got 'id'"),
        (lambda line: line.replace('"the red"', "7"), "must be a text, got 7"),
        (lambda line: line.replace("the red", "\\udc80"), "half of a surrogate pair"),
        (lambda line: line[:-1] + ', "a": 1, "a": 1}', "the key 'a' is given twice"),
        (lambda line: line[:-1] + ', "a": NaN}', "JSON, which has no NaN"),
    ],
)
def test_a_bad_line_is_named_and_what_came_before_is_written(
    run_cli, model, command: str, change: Callable[[str], str], message: str
) -> None:
    good = _line(command)
    stdin = "\n".join([good, good, change(good), good]).encode()
    result = run_cli(command, model, "--jsonl", stdin=stdin)
    assert (result.code, len(result.out.splitlines())) == (1, 2)
    assert "line 3 of the input: " in result.err
    assert message in result.err


@pytest.mark.parametrize("command", COMMANDS)
def test_a_key_that_the_answer_writes_is_refused(run_cli, model, command: str) -> None:
    written = run_cli(command, model, "--jsonl", stdin=_line(command).encode()).out
    result = run_cli(command, model, "--jsonl", stdin=written.encode())
    assert (result.code, result.out) == (1, "")
    assert "is reserved for the answer: rename it" in result.err


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - {"translate", "score", "tokenize"}))
def test_a_text_that_cannot_be_answered_is_named(run_cli, model, command: str) -> None:
    stdin = "\n".join([_line(command), _line(command, "bad")]).encode()
    result = run_cli(command, model, "--jsonl", stdin=stdin)
    assert (result.code, len(result.out.splitlines())) == (1, 1)
    assert "line 2 of the input has no <mask>" in result.err


def test_long_texts_are_named_by_their_line(run_cli, model) -> None:
    stdin = f"{_line('classify')}\n{_line('classify', 'a' * 101)}\n".encode()
    result = run_cli("classify", model, "--jsonl", "--block-lines", 1, stdin=stdin)
    assert result.code == 0
    assert "line 2 of the input was cut: it has 101 tokens, 100 are read" in result.err


def test_pairs_are_classified_in_all_lines_or_in_none(run_cli, model) -> None:
    pair = b'{"text": "a\\tb", "second_text": "b"}\n'
    result = run_cli("classify", model, "--jsonl", stdin=pair * 3)
    assert [json.loads(line)["probability"] for line in result.out.splitlines()] == [0.5] * 3
    for first, second, message in (
        (pair, b'{"text": "a"}\n', "expected the key 'second_text'"),
        (b'{"text": "a"}\n', pair, "expected 'second_text' in all lines or in none"),
    ):
        result = run_cli("classify", model, "--jsonl", stdin=first + second)
        assert (result.code, len(result.out.splitlines())) == (1, 1)
        assert f"line 2 of the input: {message}" in result.err


@pytest.mark.parametrize("flags", [[], ["--ids"]])
def test_tokens_become_text_again(run_cli, model, flags: list[str]) -> None:
    name = "ids" if flags else "pieces"
    tokens = json.loads(
        run_cli("tokenize", model, "--jsonl", *flags, stdin=b'{"text": "the red"}').out
    )[name]
    command = ["tokenize", model, "--jsonl", "--detokenize", *flags]
    back = run_cli(*command, stdin=json.dumps({name: tokens, "id": 1}).encode())
    assert json.loads(back.out) == {name: tokens, "id": 1, "text": "the red"}
    wrong: dict[str, Any] = {name: [True]}
    refused = run_cli(*command, stdin=json.dumps(wrong).encode())
    assert f"line 1 of the input: '{name}' must be a list of" in refused.err


@pytest.mark.parametrize(
    "command",
    [
        "embed --jsonl --output vectors.npy",
        "embed",
        "classify --jsonl --pairs",
        "translate --jsonl --join-lines",
        "translate --jsonl --replace-unk",
        "score --jsonl --source a",
        "score --target a",
    ],
)
def test_flags_that_do_not_fit_are_refused(run_cli, model, command: str) -> None:
    name, *flags = command.split()
    result = run_cli(name, model, *flags)
    missing = "missing" in result.err
    assert (result.code, result.out) == (2 if missing or name == "embed" else 1, "")
    assert "leave out" in result.err or missing
