"""`fill-mask`, `classify`, `rerank`, `tag` and `embed` on a stand-in model: lines in, lines out."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.search.text_limits import LongTextError
from keras_transformer.understanding.masks import MissingMaskError
from keras_transformer.understanding.results import (
    Classification,
    Filling,
    WordTag,
    most_probable,
)


@dataclasses.dataclass
class SpellingEncoder:
    """Answers from the letters of a text, and remembers the blocks it was given."""

    limits: dict[str, Any]
    blocks: list[list[str]] = dataclasses.field(default_factory=list)
    config = EncoderConfig.preset("bert-tiny", vocab_size=10, model_dim=2, num_heads=1)

    @property
    def max_text_length(self) -> int:
        return self.limits["max_text_length"]

    def text_lengths(self, texts: Sequence[str]) -> list[int]:
        return list(map(len, texts))

    def tag_lengths(self, texts: Sequence[str]) -> list[int]:
        return [2 * len(text.split()) for text in texts]

    def _take(self, texts: Sequence[str]) -> None:
        for index, text in enumerate(texts):
            if len(text) > self.max_text_length and self.limits["long_texts"] == "refuse":
                raise LongTextError(index, len(text), self.max_text_length)
        self.blocks.append(list(texts))

    def fill_mask(self, texts: Sequence[str], count: int) -> list[list[Filling]]:
        for index, text in enumerate(texts):
            if "<mask>" not in text:
                raise MissingMaskError(index, "<mask>")
        self._take(texts)
        words = ["one", "two\r\n"][:count]
        return [
            [Filling(text.replace("<mask>", w), [w], -0.5 * (1 + n)) for n, w in enumerate(words)]
            for text in texts
        ]

    def classify(
        self,
        texts: Sequence[str],
        seconds: Sequence[str] | None = None,
        *,
        threshold: float | None = None,
    ) -> list[Classification]:
        if threshold is not None:
            return [
                most_probable(np.array([3.0 * ("a" in text) - 1, len(text) - 3.0]), "ab", threshold)
                for text in texts
            ]
        if seconds is None:
            self._take(texts)
            return [
                Classification(label, 0.75, None, {label: 0.75})
                for label in (text[:1] or "none" for text in texts)
            ]
        self.blocks.append([f"{one}|{other}" for one, other in zip(texts, seconds, strict=True)])
        labels = [one[:1] + other[:1] for one, other in zip(texts, seconds, strict=True)]
        return [Classification(label, 0.5, None, {label: 0.5}) for label in labels]

    def regress(self, texts: Sequence[str], seconds: Sequence[str]) -> np.ndarray:
        self._take([one + other for one, other in zip(texts, seconds, strict=True)])
        return np.array(list(map(len, seconds)), np.float32) / 8

    def tag(self, texts: Sequence[str]) -> list[list[WordTag]]:
        self._take(texts)
        return [
            [WordTag(word, word[0] if word.isalpha() else "", 1.0) for word in text.split()]
            for text in texts
        ]

    def prompted(self, texts: Sequence[str], prompt_name: str | None = None) -> list[str]:
        return [f"{prompt_name or ''}{text}" for text in texts]

    def embed(
        self, texts: Sequence[str], pooling: str | None, *, prompt_name: str | None = None
    ) -> np.ndarray:
        texts = self.prompted(texts, prompt_name)
        self._take(texts)
        rows = [[len(text), pooling == "first"] for text in texts]
        return np.array(rows, np.float32).reshape(-1, 2)


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> SpellingEncoder:
    """Stands in for the model of every command here."""
    made = SpellingEncoder({})

    def open_encoder(directory: Any, runtime: Any, head: Any = None, **limits: Any) -> Any:
        made.limits.update(limits)
        return made

    for command in ("fill_mask", "classify", "tag", "embed", "rerank"):
        monkeypatch.setattr(
            f"keras_transformer.cli.commands.understanding.{command}.open_encoder", open_encoder
        )
    return made


def test_each_line_has_its_class(run_cli, encoder) -> None:
    result = run_cli("classify", "model", "--block-lines", 2, stdin="año\n\nb\n".encode())
    assert (result.code, result.err) == (
        0,
        "keras-transformer classify: blank lines of the input were answered as texts: 1 of 3 "
        "lines.\n",
    )
    assert result.out == "a\t0.750000\nnone\t0.750000\nb\t0.750000\n"
    assert encoder.blocks == [["año", ""], ["b"]]


def test_each_pair_of_a_line_has_its_class(run_cli, encoder) -> None:
    result = run_cli("classify", "model", "--pairs", stdin=b"ab\tcd\n\tx y\n")
    assert (result.code, result.out, result.err) == (0, "ac\t0.500000\nx\t0.500000\n", "")
    assert encoder.blocks == [["ab|cd", "|x y"]]


@pytest.fixture
def two_classes(encoder: SpellingEncoder) -> SpellingEncoder:
    """The stand-in as a classifier of texts that begin with an a or a b."""
    encoder.config = dataclasses.replace(encoder.config, head="classification", labels=("a", "b"))
    return encoder


@pytest.fixture
def several(two_classes: SpellingEncoder) -> SpellingEncoder:
    """The stand-in as a classifier of texts with any of both labels: an a in it, its length."""
    two_classes.config = dataclasses.replace(two_classes.config, multi_label=True)
    return two_classes


def test_a_line_has_all_its_labels(run_cli, several) -> None:
    stdin = b"an apple\nbee\nx\na\n"
    result = run_cli("classify", "model", stdin=stdin)
    assert result.out.splitlines() == ["b\t0.993307\ta\t0.880797", "b\t0.500000", "", "a\t0.880797"]
    result = run_cli("classify", "model", "--threshold", 0.9, stdin=stdin)
    assert (result.out, result.err) == ("b\t0.993307\n\n\n\n", "")
    result = run_cli("classify", "model", "--jsonl", stdin=b'{"id": 1, "text": "x"}\n{"text": "a"}')
    none, one = map(json.loads, result.out.splitlines())
    assert (none["id"], none["labels"], one["labels"]) == (1, [], ["a"])
    assert one["probabilities"] == pytest.approx({"a": 0.880797, "b": 0.119203}, abs=1e-6)
    assert "label" not in one


def test_labels_of_several_are_scored_one_by_one(run_cli, several, tmp_path: Path) -> None:
    test = tmp_path / "test.tsv"
    test.write_text("a, b\tan apple\n\tx\na\tbee\n")
    found = json.loads(run_cli("classify", "model", "--test-tsv", test, "--json", stdin=b"").out)
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["labels"]["a"] == {"precision": 1.0, "recall": 0.5, "f1": 2 / 3, "texts": 2}
    assert found["labels"]["b"] == {"precision": 0.5, "recall": 1.0, "f1": 2 / 3, "texts": 1}


@pytest.mark.parametrize(
    ("threshold", "message"),
    [(1.5, "a probability in [0, 1], got 1.5"), (-0.1, "a probability in [0, 1], got -0.1")],
)
def test_a_threshold_is_a_probability(run_cli, several, threshold: Any, message: str) -> None:
    result = run_cli("classify", "model", "--threshold", threshold, stdin=b"a\n")
    assert result.code == 1 and message in result.err


def test_a_threshold_without_several_labels_is_refused(run_cli, two_classes) -> None:
    result = run_cli("classify", "model", "--threshold", 0.5, stdin=b"a\n")
    assert result.code == 1 and "is for models with multi_label=True, got 0.5" in result.err


def test_labelled_texts_are_classified_and_scored(run_cli, two_classes, tmp_path: Path) -> None:
    test = tmp_path / "test.tsv"
    test.write_text("a\tax\nb\taxe\nb\tbat\n")
    result = run_cli("classify", "model", "--test-tsv", test, stdin=b"")
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines() == [
        "          precision  recall      F1  texts",
        "a             50.0%  100.0%   66.7%  1",
        "b            100.0%   50.0%   66.7%  2",
        "macro F1                      66.7%",
        "accuracy                      66.7%  3",
    ]
    found = json.loads(run_cli("classify", "model", "--test-tsv", test, "--json", stdin=b"").out)
    assert found["labels"]["b"] == {"precision": 1.0, "recall": 0.5, "f1": 2 / 3, "texts": 2}


def test_labels_that_the_classifier_lacks_are_named_before_it_reads(
    run_cli, two_classes, tmp_path: Path
) -> None:
    test = tmp_path / "test.tsv"
    test.write_text("label\ttext\n\na\tax\nd\tdog\nD\tdig\n")
    result = run_cli("classify", "model", "--test-tsv", test, stdin=b"")
    assert result.code == 1
    assert "2 labels are not among the classifier's, 'a', " in result.err
    assert f": 'd' ({test}, line 4), 'D' ({test}, line 5)" in result.err
    assert two_classes.blocks == []


@pytest.mark.parametrize("flags", [["--json"], ["--pairs", "--test-tsv", "test.tsv"]], ids=str)
def test_flags_that_a_test_gives_no_meaning_are_refused(run_cli, encoder, flags: list) -> None:
    result = run_cli("classify", "model", *flags, stdin=b"")
    assert result.code == 1 and "--test-tsv" in result.err


@pytest.mark.parametrize(("line", "tabs"), [(b"ef", 0), (b"e\tf\tg", 2)])
def test_a_line_that_is_no_pair_is_named_after_those_before_it(
    run_cli, encoder, line: bytes, tabs: int
) -> None:
    result = run_cli("classify", "model", "--pairs", stdin=b"ab\tcd\n" + line + b"\n")
    assert (result.code, result.out) == (1, "ac\t0.500000\n")
    assert f"line 2 of the input has {tabs} tabs: with --pairs every line" in result.err


def test_of_two_bad_lines_the_first_is_named_after_those_before_it(run_cli, encoder) -> None:
    flags = ["--long-lines", "refuse", "--max-text-length", 20]
    stdin = b"a <mask>\n" + b"<mask>" * 9 + b"\nno mask\n"
    result = run_cli("fill-mask", "model", "--num-hypotheses", 1, *flags, stdin=stdin)
    assert (result.code, result.out) == (1, "-0.500000\ta one\n")
    assert "line 2 of the input has 54 tokens" in result.err


def test_a_pair_is_as_long_as_its_texts_and_the_token_between(run_cli, encoder) -> None:
    result = run_cli("classify", "model", "--pairs", "--max-text-length", 4, stdin=b"a\tbc\nab\tbc")
    assert result.err == (
        "keras-transformer classify: line 2 of the input was cut: it has 5 tokens, 4 are read.\n"
    )


def test_each_word_has_its_tag(run_cli, encoder) -> None:
    result = run_cli("tag", "model", stdin=b"the 1 dog\n\nx\n")
    assert (result.code, result.out, result.err) == (0, "t _ d\n\nx\n", "")


def test_a_tagger_is_scored_on_tagged_texts(run_cli, encoder, tmp_path: Path) -> None:
    encoder.config = dataclasses.replace(encoder.config, head="tagging", labels=("B-x", "I-x", "O"))
    encoder.tag = lambda texts: [
        [WordTag(word, {"b": "B-x", "i": "I-x"}.get(word[0], "O"), 1.0) for word in text.split()]
        for text in texts
    ]
    path = tmp_path / "tags.txt"
    path.write_text("bo/B-x io/I-x a/O\n\nb/O b/B-x\n", encoding="utf-8")
    result = run_cli("tag", "model", "--test-text", path)
    assert (result.code, result.err) == (0, f"{path}: the tags follow BIO\n")
    assert result.out.splitlines()[1:] == [
        "x              66.7%  100.0%   80.0%  2",
        "all spans      66.7%  100.0%   80.0%  2",
        "accuracy       80.0%                  5",
    ]
    scores = json.loads(run_cli("tag", "model", "--test-text", path, "--json").out)
    assert scores["accuracy"] == 0.8 and scores["spans"]["f1"] == pytest.approx(0.8)
    assert run_cli("tag", "model", "--json").code == 1
    path.write_text("bo/B-x io/I-y\n\na/X b/I-y c/I-y\n", encoding="utf-8")
    told = f": 'I-y' (2 texts, the first {path}, line 1), 'X' ({path}, line 3)\n"
    assert run_cli("tag", "model", "--test-text", path).err.endswith(told)


def test_a_line_is_as_long_as_a_tagger_reads_it(run_cli, encoder) -> None:
    result = run_cli("tag", "model", "--max-text-length", 5, stdin=b"a\na b c\n")
    assert result.code == 0
    assert "line 2 of the input was cut: it has 6 tokens, 5 are read.\n" in result.err


def test_long_labelled_texts_are_cut_and_named(run_cli, two_classes, tmp_path: Path) -> None:
    test = tmp_path / "test.tsv"
    for content, tokens in (("a\tax\nb\tbaxes\n", 5), ("a\tax\tb\nb\tbat\tbat\n", 7)):
        test.write_text(content)
        limit = ["--test-tsv", test, "--max-text-length", 4]
        result = run_cli("classify", "model", *limit, stdin=b"")
        assert result.err == (
            f"keras-transformer classify: line 2 of {test} was cut: it has {tokens} tokens, 4 are "
            "read.\n"
        )
    # Lines are those of the file, with the names of columns and blank lines.
    test.write_text("label\ttext\n\na\tax\nb\tbaxes\n")
    result = run_cli("classify", "model", *limit, stdin=b"")
    assert f"line 4 of {test} was cut: it has 5 tokens" in result.err
    result = run_cli("classify", "model", *limit, "--long-lines", "refuse", stdin=b"")
    assert result.code == 1
    assert f"line 4 of {test} has 5 tokens, more than the 4 allowed: use --long-lines" in result.err


def test_a_limit_that_is_none_is_refused_by_its_flag(run_cli, encoder) -> None:
    result = run_cli("tag", "model", "--max-text-length", 0, stdin=b"a\n")
    assert result.code == 1 and "--max-text-length must be at least 1, got 0" in result.err


def test_fillings_of_a_line_stand_together_and_keep_their_count(run_cli, encoder) -> None:
    stdin = b"a <mask>\n<mask> b\n"
    result = run_cli("fill-mask", "model", "--num-hypotheses", 3, stdin=stdin)
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines() == [
        "-0.500000\ta one",
        "-1.000000\ta two  ",
        "-inf\t",
        "-0.500000\tone b",
        "-1.000000\ttwo   b",
        "-inf\t",
    ]


def test_a_line_without_a_mask_is_named_after_those_before_it(run_cli, encoder) -> None:
    result = run_cli("fill-mask", "model", "--block-lines", 2, stdin=b"<mask>\n<mask>\n<mask>\nb\n")
    assert (result.code, result.out) == (1, "-0.500000\tone\n" * 3)
    assert result.err == (
        "keras-transformer fill-mask: error: line 4 of the input has no <mask>, or it was cut off: "
        "write <mask> where a word is missing.\n"
    )


def test_long_lines_are_cut_and_named(run_cli, encoder) -> None:
    result = run_cli("classify", "model", "--max-text-length", 3, stdin=b"ab\nabcd\nabc\n")
    assert (result.code, result.out.count("\n")) == (0, 3)
    assert result.err == (
        "keras-transformer classify: line 2 of the input was cut: it has 4 tokens, 3 are read.\n"
    )
    assert encoder.limits == {"max_text_length": 3, "long_texts": "cut"}


def test_long_lines_are_refused_after_those_before_them(run_cli, encoder) -> None:
    flags = ["--max-text-length", 3, "--long-lines", "refuse"]
    result = run_cli("classify", "model", *flags, stdin=b"ab\nabcd\nabc\n")
    assert (result.code, result.out) == (1, "a\t0.750000\n")
    assert "line 2 of the input has 4 tokens, more than the 3 allowed: use --long-lines cut" in (
        result.err
    )


def test_vectors_are_written_to_a_file(run_cli, encoder, tmp_path) -> None:
    output = tmp_path / "new" / "vectors.npy"
    flags = ["--output", output, "--block-lines", 2, "--pooling", "first"]
    result = run_cli("embed", "model", *flags, stdin=b"a\nbc\n\n")
    assert (result.code, result.out) == (0, "")
    assert "embed: blank lines of the input were answered as texts: 1 of 3 lines." in result.err
    found = np.load(output)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, [[1, 1], [2, 1], [0, 1]])
    result = run_cli("embed", "model", "--output", output, stdin=b"")
    assert (result.code, np.load(output).shape) == (0, (0, 2))


def test_a_prompt_counts_as_a_part_of_each_line(run_cli, encoder, tmp_path) -> None:
    output = tmp_path / "vectors.npy"
    flags = ["--output", output, "--prompt-name", "to: ", "--max-text-length", 6]
    result = run_cli("embed", "model", *flags, stdin=b"a\nbcd\n")
    assert result.err == (
        "keras-transformer embed: line 2 of the input was cut: it has 7 tokens, 6 are read.\n"
    )
    assert encoder.blocks[-1] == ["to: a", "to: bcd"]


def test_an_unknown_pooling_is_refused_before_the_model_is_opened(run_cli, tmp_path) -> None:
    flags = ["--output", tmp_path / "vectors.npy", "--pooling", "max+cls"]
    result = run_cli("embed", "no model", *flags, stdin=b"a\n")
    assert result.code == 1 and "pooling must be one of first, max" in result.err


def test_vectors_are_written_whole_or_not_at_all(run_cli, encoder, tmp_path) -> None:
    output = tmp_path / "vectors.npy"
    output.write_text("old", encoding="utf-8")
    flags = ["--output", output, "--max-text-length", 3, "--long-lines", "refuse"]
    result = run_cli("embed", "model", *flags, "--block-lines", 1, stdin=b"a\nabcd\n")
    assert result.code == 1 and "line 2 of the input has 4 tokens" in result.err
    assert output.read_text(encoding="utf-8") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["vectors.npy"]


def test_an_output_that_cannot_be_is_refused_before_the_model_is_opened(run_cli, tmp_path) -> None:
    result = run_cli("embed", "no model", "--output", tmp_path, stdin=b"a\n")
    assert result.code == 1 and "it is a directory already" in result.err


@pytest.mark.parametrize(
    ("command", "flags", "message"),
    [
        ("fill-mask", ["--num-hypotheses", 0], "--num-hypotheses must be at least 1, got 0"),
        ("classify", ["--block-lines", 0], "--block-lines must be at least 1, got 0"),
    ],
)
def test_wrong_flags_are_refused(run_cli, encoder, command: str, flags: list, message: str) -> None:
    result = run_cli(command, "model", *flags, stdin=b"a\n")
    assert result.code == 1 and message in result.err


LINES = b"red\tone\nred\tthree\nblue\ttwo\nred\tfour\n"


@pytest.mark.parametrize("block", [1, 256])
def test_texts_that_stand_together_are_ranked(run_cli, encoder, block: int) -> None:
    result = run_cli("rerank", "model", "--block-lines", block, stdin=LINES)
    assert (result.code, result.err) == (0, "")
    assert result.out == (
        "red\t0.625000\tthree\nred\t0.375000\tone\nblue\t0.375000\ttwo\nred\t0.500000\tfour\n"
    )


def test_ranks_are_written_as_json(run_cli, encoder) -> None:
    result = run_cli("rerank", "model", "--json", "--top-n", 1, stdin=LINES)
    red = {"query": "red", "results": [{"index": 1, "text": "three", "score": 0.625}]}
    assert json.loads(result.out.splitlines()[0]) == red


def test_objects_are_ranked(run_cli, encoder) -> None:
    lines = b'{"query": "a", "texts": ["b", "ccc"], "id": 7}\n{"query": "d", "texts": []}\n'
    result = run_cli("rerank", "model", "--jsonl", "--top-n", 1, stdin=lines)
    first, second = map(json.loads, result.out.splitlines())
    assert first["results"] == [{"index": 1, "text": "ccc", "score": 0.375}]
    assert (first["id"], second["results"]) == (7, [])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"alone\n", "line 5 of the input has 0 tabs: every line has a query, a tab and a text."),
        (b"a\tb\tc\n", "line 5 of the input has 2 tabs: every line has a query"),
        (b"a\t\xff\n", "line 5 of the input is not valid UTF-8"),
    ],
)
def test_a_bad_line_to_rank_is_refused_by_its_number(
    run_cli, encoder, line: bytes, message: str
) -> None:
    """The queries before it are written, but for one that might have gone on."""
    result = run_cli("rerank", "model", stdin=LINES + line)
    assert result.code == 1
    assert message in result.err
    assert result.out.splitlines()[:3] == [
        "red\t0.625000\tthree",
        "red\t0.375000\tone",
        "blue\t0.375000\ttwo",
    ]


def test_a_pair_that_is_too_long_is_cut_or_refused(run_cli, encoder) -> None:
    limits = ("--max-text-length", 4)
    result = run_cli("rerank", "model", *limits, stdin=b"ab\tc\nab\tcde\n")
    assert "line 2 of the input was cut: it has 6 tokens, 4 are read" in result.err
    record = b'{"query": "ab", "texts": ["c"]}\n{"query": "ab", "texts": ["c", "cde"]}\n'
    flags = (*limits, "--long-lines", "refuse", "--jsonl")
    result = run_cli("rerank", "model", *flags, stdin=record)
    assert "line 2 of the input has 5 tokens, more than the 4 allowed" in result.err


def test_json_is_asked_for_once(run_cli, encoder) -> None:
    result = run_cli("rerank", "model", "--json", "--jsonl")
    assert "--jsonl writes JSON by itself: leave out --json." in result.err
