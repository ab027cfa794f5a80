"""`translate`: one line out per line in, in order, block by block."""

import io
import os
import subprocess
import sys
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.cli.input_lines import read_blocks
from keras_transformer.search.model_limits import TooLongError
from keras_transformer.search.named_ids import PrefixError
from keras_transformer.search.options import SearchOptions


def test_lines_keep_their_order_and_empty_lines_stay(run_cli, translator) -> None:
    result = run_cli("translate", "model", stdin="hola\n\n¿qué?\n".encode())
    assert (result.code, result.out, result.err) == (0, "HOLA\n\n¿QUÉ?\n", "")


def test_wrapped_lines_are_joined_by_hand(run_cli, translator) -> None:
    flags = ["--join-lines", "--block-lines", 2]
    stdin = b"a man\nis here\n\n- one\n  goes on\n- two\n"
    result = run_cli("translate", "model", *flags, stdin=stdin)
    assert result.out == "A MAN IS HERE\n\n- ONE GOES ON\n- TWO\n"
    assert translator.blocks == [["a man is here", ""], ["- one goes on", "- two"]]
    result = run_cli("translate", "model", *flags, stdin=b"a\nb\n\n\xff\nc")
    assert (result.out, result.code) == ("A B\n\n", 1)
    assert "line 4 of the input is not valid UTF-8" in result.err
    result = run_cli("translate", "model", *flags, "--target-prefixes", "f", stdin=b"a\n")
    assert "leave one of the two out" in result.err


def test_blocks_bound_what_is_read_at_once(run_cli, translator) -> None:
    result = run_cli("translate", "model", "--block-lines", 2, stdin=b"a\nb\nc\nd\ne\n")
    assert translator.blocks == [["a", "b"], ["c", "d"], ["e"]]
    assert result.out == "A\nB\nC\nD\nE\n"


@pytest.mark.parametrize("flags", [["--scores"], ["--min-score", "-3.5"]], ids=str)
def test_lines_of_low_confidence_are_named(run_cli, translator, flags: list[str]) -> None:
    translator.min_score = -3.5
    lines = b"a\nb?\nc\nd?\ne?\n"
    result = run_cli("translate", "model", "--block-lines", 2, *flags, stdin=lines)
    assert result.err.splitlines() == ["low confidence in 3 of 5 lines: 2, 4, 5"]
    assert len(result.out.splitlines()) == 5


@pytest.mark.parametrize("flags", [[], ["--replace-unk"]], ids=str)
def test_lines_of_low_confidence_are_counted_where_scores_are_not_asked_for(
    run_cli, translator, flags: list[str]
) -> None:
    translator.min_score = -3.5
    result = run_cli("translate", "model", *flags, stdin=b"a\nb?\n" * 12)
    named = ", ".join(map(str, range(2, 21, 2)))
    assert result.err.splitlines() == [
        f"low confidence in 12 of 24 lines: {named}, ... (--scores names all)"
    ]
    assert result.out == "A\nB?\n" * 12


def test_no_input_is_no_output(run_cli, translator) -> None:
    result = run_cli("translate", "model", stdin=b"")
    assert (result.code, result.out, translator.blocks) == (0, "", [])


def test_search_flags_reach_the_translator(run_cli, translator) -> None:
    flags = (
        "--beam-size 4 --length-penalty 1 --num-hypotheses 2 --max-length 9 --min-length 2 "
        "--early-stopping exact --banned-sequences [7,8] [9]"
    )
    run_cli("translate", "model", *flags.split(), stdin=b"a\n")
    options = SearchOptions(
        beam_size=4,
        length_penalty=1.0,
        num_hypotheses=2,
        max_length=9,
        min_length=2,
        early_stopping="exact",
        banned_sequences=((7, 8), (9,)),
    )
    assert translator.search == [{**asdict(options), "return_scores": False}]


def test_required_phrases_are_repeated_flags(run_cli, translator) -> None:
    run_cli("translate", "model", "--require", "a b|c", "--require", "d", stdin=b"a\n")
    assert [search["require"] for search in translator.search] == [("a b|c", "d")]


def test_samples_know_their_place_in_the_whole_input(run_cli, translator) -> None:
    flags = ["--sample", "--seed", 1, "--block-lines", 2]
    run_cli("translate", "model", *flags, stdin=b"a\n" * 5)
    assert [search["first_place"] for search in translator.search] == [0, 2, 4]


def test_one_prefix_stands_for_every_line(run_cli, translator) -> None:
    run_cli("translate", "model", "--target-prefix", "so", stdin=b"a\nb\n")
    assert [search["target_prefixes"] for search in translator.search] == [["so", "so"]]


def test_each_line_has_the_prefix_of_its_number(run_cli, translator, tmp_path) -> None:
    (tmp_path / "prefixes").write_text("so\n\nthen\n", encoding="utf-8")
    flags = ["--target-prefixes", tmp_path / "prefixes", "--block-lines", 2]
    result = run_cli("translate", "model", *flags, stdin=b"a\nb\nc\n")
    assert (result.code, result.err) == (0, "")
    assert [search["target_prefixes"] for search in translator.search] == [["so", ""], ["then"]]


@pytest.mark.parametrize(
    ("prefixes", "message"),
    [
        ("so\nthen\n", "ends after line 2, but the input goes on: give a prefix for each line"),
        ("so\n\n\n\n", "has more than the 3 lines of the input"),
        (None, "no such file"),
    ],
)
def test_prefixes_match_the_input_line_by_line(
    run_cli, translator, tmp_path, prefixes: str | None, message: str
) -> None:
    if prefixes is not None:
        (tmp_path / "prefixes").write_text(prefixes, encoding="utf-8")
    flags = ["--target-prefixes", tmp_path / "prefixes", "--block-lines", 2]
    result = run_cli("translate", "model", *flags, stdin=b"a\nb\nc\n")
    assert result.code == 1
    assert str(tmp_path / "prefixes") in result.err and message in result.err


def test_a_prefix_that_cannot_be_is_named_by_its_line(
    run_cli, translator, monkeypatch, tmp_path
) -> None:
    translate = translator.translate_n_best

    def refuse(texts, *, target_prefixes=(), **search):
        if "bad" in target_prefixes:
            raise PrefixError(target_prefixes.index("bad"), "has 9 tokens.")
        return translate(texts, **search)

    monkeypatch.setattr(translator, "translate_n_best", refuse)
    (tmp_path / "prefixes").write_text("so\n\nthen\nbad\n", encoding="utf-8")
    flags = ["--target-prefixes", tmp_path / "prefixes", "--block-lines", 2]
    result = run_cli("translate", "model", *flags, stdin=b"a\nb\nc\nd\n")
    assert (result.code, result.out) == (1, "A\nB\nC\n")
    assert result.err == (
        "keras-transformer translate: error: the prefix of line 4 has 9 tokens.\n"
    )


def test_of_two_bad_lines_the_first_is_named(run_cli, translator, monkeypatch, tmp_path) -> None:
    translate = translator.translate_n_best

    def refuse(texts, *, target_prefixes=(), **search):
        if "long" in texts:
            raise TooLongError(texts.index("long"), 9, 5)
        if "bad" in target_prefixes:
            raise PrefixError(target_prefixes.index("bad"), "has 9 tokens.")
        return translate(texts, **search)

    monkeypatch.setattr(translator, "translate_n_best", refuse)
    (tmp_path / "prefixes").write_text("so\nbad\n\n\n", encoding="utf-8")
    flags = ["--target-prefixes", tmp_path / "prefixes"]
    result = run_cli("translate", "model", *flags, stdin=b"a\nb\nc\nlong\n")
    assert (result.code, result.out) == (1, "A\n")
    assert "error: the prefix of line 2 has 9 tokens.\n" in result.err


@pytest.mark.parametrize("file", ["manifest.json", "config.json"])
def test_words_for_unknown_tokens_are_asked_of_the_translator(
    run_cli, translator, tmp_path, file: str
) -> None:
    (tmp_path / file).touch()
    run_cli("translate", tmp_path, "--replace-unk", stdin=b"a\n")
    assert [search["replace_unk"] for search in translator.search] == [True]


def test_n_best_gives_n_lines_for_each_line(run_cli, translator) -> None:
    flags = "--beam-size 2 --num-hypotheses 2 --scores"
    result = run_cli("translate", "model", *flags.split(), stdin=b"a\nb\n")
    lines = ["-0.500000\tA", "-1.500000\tA!", "-0.500000\tB", "-1.500000\tB!"]
    assert result.out.splitlines() == lines


def test_a_line_with_fewer_hypotheses_keeps_the_count(run_cli, translator, monkeypatch) -> None:
    complete = translator.translate_n_best
    monkeypatch.setattr(
        translator, "translate_n_best", lambda *a, **k: [best[:1] for best in complete(*a, **k)]
    )
    flags = "--beam-size 2 --num-hypotheses 2"
    result = run_cli("translate", "model", *flags.split(), stdin=b"a\nb\n")
    assert result.out == "A\n\nB\n\n"


def test_a_translation_never_holds_a_line_end(run_cli, translator, monkeypatch) -> None:
    shout = translator._hypothesis
    monkeypatch.setattr(translator, "_hypothesis", lambda text, rank: shout(f"{text}\r\n x", rank))
    assert run_cli("translate", "model", stdin=b"a\n").out == "A   X\n"


def test_invalid_utf8_names_the_line_after_the_lines_before_it(run_cli, translator) -> None:
    result = run_cli("translate", "model", stdin=b"a\nb\n\xff\nc\n")
    assert (result.code, result.out) == (1, "A\nB\n")
    assert result.err.startswith("keras-transformer translate: error: line 3 of the input")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--beam-size 0", "--beam-size must be at least 1, got 0."),
        (
            "--num-hypotheses 2",
            "--num-hypotheses (2) is more than --beam-size (1): raise --beam-size",
        ),
        ("--block-lines 0", "--block-lines must be at least 1, got 0."),
        ("--sample --beam-size 2", "--sample needs --beam-size 1, got 2."),
        ("--replace-unk --scores", "--replace-unk writes translations only: leave out --scores"),
        ("--replace-unk --alignments", "leave out --scores, --min-score and --alignments."),
        ("--replace-unk --beam-size 2 --num-hypotheses 2", "leave out --num-hypotheses."),
        ("--target-prefix a --target-prefixes b", "give only one of the two."),
        ("--seed 1", "--seed is meant for sampling: give --sample as well."),
    ],
)
def test_values_out_of_range_are_refused(run_cli, translator, flags: str, message: str) -> None:
    result = run_cli("translate", "model", *flags.split(), stdin=b"a\n")
    assert (result.code, result.out) == (1, "")
    assert message in result.err and result.err.count("\n") == 1


def test_a_directory_that_is_neither_export_nor_run(run_cli, tmp_path) -> None:
    result = run_cli("translate", tmp_path, stdin=b"a\n")
    assert result.code == 1
    assert "neither manifest.json (an export) nor config.json (a training run)" in result.err


def test_a_saved_model_is_named_as_such(run_cli, tmp_path) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "saved_model.pb").touch()
    result = run_cli("translate", tmp_path, stdin=b"a\n")
    assert result.code == 1
    assert f"{tmp_path} is a SavedModel" in result.err and "--format onnx" in result.err


def test_before_a_run_is_loaded_its_slowness_is_told(run_cli, finished_run, monkeypatch) -> None:
    def load_run(directory):
        raise FileNotFoundError("loaded now")

    monkeypatch.setattr("keras_transformer.decoding.translator.load_run", load_run)
    first, second = run_cli("translate", finished_run, stdin=b"a\n").err.splitlines()
    assert f"{finished_run} is a training run" in first and "keras-transformer export" in first
    assert "loaded now" in second


def test_an_unfinished_run_is_told_before_tensorflow_starts(
    run_cli, finished_run, monkeypatch
) -> None:
    (finished_run / "model.keras").unlink()
    monkeypatch.setattr("keras_transformer.cli.artefact.load_training", pytest.fail)
    result = run_cli("translate", finished_run, stdin=b"a\n")
    assert result.code == 1 and result.err.count("\n") == 1
    assert "model.keras is missing: the run has not finished; continue it with" in result.err


def test_closed_input_is_told_before_the_model_is_opened(run_cli, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("io.TextIOWrapper", lambda *a, **k: None)
    result = run_cli("translate", tmp_path)
    assert (result.code, result.out) == (1, "")
    assert "standard input is closed" in result.err


def test_a_missing_directory_is_named(run_cli, tmp_path) -> None:
    result = run_cli("translate", tmp_path / "none", stdin=b"a\n")
    assert result.code == 1
    assert f"no directory {tmp_path / 'none'}" in result.err


def test_each_block_is_answered_before_the_next_is_read() -> None:
    program = (
        "import sys\n"
        "from keras_transformer import cli\n"
        "from keras_transformer.cli.commands import translate\n"
        "from keras_transformer.search.options import Hypothesis\n"
        "class Shouting:\n"
        "    min_score = None\n"
        "    def translate_n_best(self, texts, **search):\n"
        "        return [[Hypothesis(text.upper(), [], 0.0, 0.0)] for text in texts]\n"
        "translate.open_translator = lambda *_, **__: Shouting()\n"
        "sys.exit(cli.main(['translate', 'model', '--block-lines', '1']))\n"
    )
    environment = {**os.environ, "PYTHONUNBUFFERED": ""}
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment) as process:
        for word in (b"one\n", b"two\n"):
            process.stdin.write(word)
            process.stdin.flush()
            assert process.stdout.readline() == word.upper()
        process.stdin.close()
        assert process.wait(timeout=30) == 0


@given(
    lines=st.lists(st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]))),
    line_end=st.sampled_from(["\n", "\r\n"]),
    block_lines=st.integers(1, 5),
    ends=st.booleans(),
)
def test_blocks_hold_exactly_the_lines(lines, line_end, block_lines, ends) -> None:
    text = line_end.join([*lines, ""]) if ends else line_end.join(lines)
    blocks = list(read_blocks(io.BytesIO(text.encode()), block_lines))
    # A last line that is empty and unended is no line, as in every Unix tool.
    expected = lines if ends or not lines or lines[-1] else lines[:-1]
    assert [line for block in blocks for line in block] == expected
    assert all(len(block) == block_lines for block in blocks[:-1])
